// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_SEQUENCER_KEEPER_H_
#define ZKRECIPES_LIB_QUEUE_SEQUENCER_KEEPER_H_

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/queue/sequencer_table.h"
#include "lib/queue/standing.h"
#include "lib/session/client_core.h"
#include "lib/session/session.h"

namespace zkrecipes::internal {

// Fills a SequencerTable and keeps it young. A sequencer is asked about once (AskStanding), and its
// node watched. From then on one committed barrier renews all that are watched. For its answer comes
// from the server that holds the watches, behind the events of all that was committed before it: what
// has no event by then was there when the barrier was sent, or later. The same holds after a
// reconnection, since the watches are in force again before anything else is sent.
//
// Everything on the reactor, except Start, Find and Stop. Keeps itself alive until it is stopped, or
// the client is closed.
class SequencerKeeper : public session::SessionListener,
                        public std::enable_shared_from_this<SequencerKeeper> {
 public:
  // When it held: nullopt if it does not.
  using Held = std::optional<base::BootTime>;
  using Done = absl::AnyInvocable<void(absl::StatusOr<Held>) &&>;

  static std::shared_ptr<SequencerKeeper> Start(std::shared_ptr<ClientCore> core,
                                                absl::Duration max_age, size_t max_entries);
  void Stop();

  // From memory, if it is known. Renews in the background what is half as old as it may be.
  std::optional<bool> Find(const Sequencer& sequencer);
  // Whether what held then is young enough to be told.
  bool IsYoung(base::BootTime held) const { return core_->Now() - held < table_.max_age(); }
  // `done` runs once, perhaps inline. Questions about the same sequencer share their requests.
  // Unavailable: ask again.
  // REQUIRES: CheckSequencerForm(sequencer) is OK.
  void Ask(const Sequencer& sequencer, Done done);

  ClientCore& core() const { return *core_; }
  const std::shared_ptr<ClientCore>& shared_core() const { return core_; }
  const SequencerTable& table() const { return table_; }

  bool NeedsProof() const override { return false; }
  void OnConnected() override {}
  void OnDisconnected() override {}
  void OnExpired() override;
  void OnLapsed() override {}
  void OnProven() override {}
  void OnFailed(const absl::Status& why) override { End(why); }
  void OnClosing() override;

 private:
  struct Watching {
    session::WatcherId id = 0;
    session::PathBudget::Reservation bytes;
    bool armed = false;
    bool gone = false;  // its node was deleted
  };
  // A question on its way. What is true now may have been false when it was answered: so only those
  // who asked before it was sent are told that the grant waits, or an error.
  struct Question {
    std::vector<Done> asked;
    std::vector<Done> joined;
    base::BootTime sent;
    std::shared_ptr<Watching> watching;
  };

  SequencerKeeper(std::shared_ptr<ClientCore> core, absl::Duration max_age, size_t max_entries);
  void Begin(session::Session* session);  // null: the client is closed
  void Send(const Sequencer& sequencer, std::vector<Done> asked);
  void Watch(const Sequencer& sequencer, Question& question);
  void OnFired(const Sequencer& sequencer, const std::shared_ptr<Watching>& watching,
               zk::WatchEvent event);
  void OnStanding(const Sequencer& sequencer, absl::StatusOr<queue::Standing> standing);
  // What is remembered of it, and what all are told, if it is more than `standing`.
  std::optional<absl::StatusOr<Held>> Settle(const Sequencer& sequencer, Question& question,
                                             const absl::StatusOr<queue::Standing>& standing);
  void Unwatch(const std::optional<Sequencer>& evicted);
  void Renew();
  void OnRenewal(base::BootTime sent, bool committed);
  void End(absl::Status why);

  const std::shared_ptr<ClientCore> core_;
  SequencerTable table_;
  session::Session* session_ = nullptr;  // null before Begin, and at the end
  absl::Status ended_;
  std::shared_ptr<SequencerKeeper> self_;
  absl::flat_hash_map<Sequencer, std::shared_ptr<Question>, SequencerHash> questions_;
  absl::flat_hash_map<Sequencer, std::shared_ptr<Watching>, SequencerHash> watches_;
  bool renewing_ = false;  // a barrier is under way
  std::vector<std::pair<Sequencer, Done>> await_renewal_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_SEQUENCER_KEEPER_H_
