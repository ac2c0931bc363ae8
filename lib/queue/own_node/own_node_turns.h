// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_TURNS_H_
#define ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_TURNS_H_

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "lib/queue/call/call.h"
#include "lib/queue/lease/lease_state.h"
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

// One caller's write of its lease's node. The reactor always answers it; a caller that gives up
// before is told whether the write may have been sent.
class OwnNodeTurn : public call::Call<absl::Status> {
 public:
  OwnNodeTurn(std::shared_ptr<internal::LeaseState> lease, const WriteJob& job,
              const WaitOptions& wait, call::Done<absl::Status> done);

  // Ends the lease if it is lost, and then tells the caller. `node`: its path on the server.
  void Answer(const machine::WriteResult& result, const std::string& node);

 private:
  friend class OwnNodeTurns;
  absl::Status GivenUp(bool cancelled) override;
  // False if the caller has given up: then it must not be sent.
  bool MarkSent();
  void MarkNotSent() { sent_ = false; }
  absl::Status Refused(const machine::WriteResult& result, const std::string& node) const;
  absl::Status Describe(const machine::WriteResult& result, const std::string& node) const;

  const std::shared_ptr<internal::LeaseState> lease_;
  const std::string what_;
  const std::vector<zk::Multi::Op> ops_;
  machine::OwnNodeWrite write_;
  std::atomic<bool> sent_ = false;
};

// The writes of one lease's node, one after another, since each names the version that the one
// before has left. A turn is over when it is known what became of it, or that it cannot be known:
// even if its caller has given up, the next one waits until then, as it could not tell the mark of
// that write from its own. Everything on the reactor, except Add. Keeps itself alive while there
// are turns.
class OwnNodeTurns : public session::SessionListener,
                     public internal::LeaseFollower,
                     public std::enable_shared_from_this<OwnNodeTurns> {
 public:
  OwnNodeTurns(std::shared_ptr<internal::ClientCore> core, machine::OwnNode node)
      : core_(std::move(core)), node_(std::move(node)) {}

  // Thread-safe. FailedPrecondition if the client is closed.
  void Add(std::shared_ptr<OwnNodeTurn> turn);

  // The lease has ended: turns that have sent nothing are over. Thread-safe.
  void OnLeaseEnded() override;

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
  void Look();
  void GoOnAfterAPause();
  // Of the first turn.
  void End(absl::Status answer);
  void End(const machine::WriteResult& result);
  std::shared_ptr<OwnNodeTurn> TakeFirst();

  const std::shared_ptr<internal::ClientCore> core_;
  machine::OwnNode node_;
  session::Session* session_ = nullptr;  // null while there are no turns
  std::deque<std::shared_ptr<OwnNodeTurn>> turns_;
  bool asking_ = false;  // a request of the first one is on its way
  std::shared_ptr<OwnNodeTurns> self_;
};

// Begins a write of the lease's own node: the next of its turns.
std::shared_ptr<OwnNodeTurn> Write(const std::shared_ptr<internal::LeaseState>& lease,
                                   const WriteJob& job, const WaitOptions& wait,
                                   call::Done<absl::Status> done);

}  // namespace zkrecipes::queue::own_node

#endif  // ZKRECIPES_LIB_QUEUE_OWN_NODE_OWN_NODE_TURNS_H_
