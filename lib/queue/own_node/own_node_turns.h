// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_TURNS_H_
#define ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_TURNS_H_

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/queue/machine/own_node_write.h"
#include "lib/session/client/client_core.h"
#include "lib/session/session.h"

namespace zkrecipes::queue::own_node {

// What one caller wants to be written. `what` begins the messages: "proclaim /q".
struct WriteJob {
  std::string what;
  machine::OwnNodeWrite::Data data;
  std::vector<zk::Multi::Op> ops = {};  // the server's paths
};

// One caller's write of its lease's node. It is answered once, on the reactor, whatever happens.
class OwnNodeTurn {
 public:
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  // `may_begin`: OK as long as it may be sent, or the answer.
  OwnNodeTurn(const WriteJob& job, absl::AnyInvocable<absl::Status()> may_begin, Done done)
      : what_(job.what),
        ops_(job.ops),
        write_(job.data, job.ops),
        may_begin_(std::move(may_begin)),
        done_(std::move(done)) {}

  // The caller does not wait any more: nothing is sent from now on. Returns whether something was
  // before, of which the caller does not know what became. Thread-safe.
  bool Abandon() { return (flags_.fetch_or(kAbandoned) & kSent) != 0; }

 private:
  friend class OwnNodeTurns;
  static constexpr int kSent = 1;
  static constexpr int kAbandoned = 2;

  bool abandoned() const { return (flags_ & kAbandoned) != 0; }
  bool MarkSent() { return (flags_.fetch_or(kSent) & kAbandoned) == 0; }
  void MarkNotSent() { flags_.fetch_and(~kSent); }
  // Nothing of the caller's is kept after it.
  void Answer(absl::Status answer) { std::exchange(done_, nullptr)(std::move(answer)); }
  absl::Status Describe(const internal::ClientCore& core, const std::string& node) const;

  const std::string what_;
  const std::vector<zk::Multi::Op> ops_;
  machine::OwnNodeWrite write_;
  absl::AnyInvocable<absl::Status()> may_begin_;
  Done done_;
  std::atomic<int> flags_ = 0;
};

// The writes of one lease's node, one after another, since each names the version that the one
// before has left. A turn is over when it is known what became of it, or that it cannot be known:
// even if its caller has given up, the next one waits until then, as it could not tell the mark of
// that write from its own. Everything on the reactor, except Add. Keeps itself alive while there
// are turns.
class OwnNodeTurns : public session::SessionListener,
                     public std::enable_shared_from_this<OwnNodeTurns> {
 public:
  OwnNodeTurns(std::shared_ptr<internal::ClientCore> core, machine::OwnNode node)
      : core_(std::move(core)), node_(std::move(node)) {}

  // Thread-safe. FailedPrecondition if the client is closed.
  void Add(std::shared_ptr<OwnNodeTurn> turn);

  // The lease has ended: turns that have sent nothing are over. Thread-safe.
  void OnLeaseEnded();

  void OnConnected() override { GoOn(); }
  void OnExpired() override { GoOn(); }
  void OnFailed(const absl::Status& why) override;
  void OnClosing() override;

 private:
  void Begin(session::Session* session, std::shared_ptr<OwnNodeTurn> turn);
  void GoOn();
  bool Step(OwnNodeTurn& turn);  // whether it is over
  bool IsOver(OwnNodeTurn& turn);
  void Send(OwnNodeTurn& turn);
  void Look(OwnNodeTurn& turn);
  void GoOnAfterAPause();
  void End(absl::Status answer);  // the first turn

  const std::shared_ptr<internal::ClientCore> core_;
  machine::OwnNode node_;
  session::Session* session_ = nullptr;  // null while there are no turns
  std::deque<std::shared_ptr<OwnNodeTurn>> turns_;
  bool asking_ = false;  // a request of the first one is on its way
  std::shared_ptr<OwnNodeTurns> self_;
};

}  // namespace zkrecipes::queue::own_node

#endif  // ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_TURNS_H_
