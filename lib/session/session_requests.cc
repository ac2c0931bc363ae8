// SPDX-License-Identifier: Apache-2.0
//
// A session's requests, watches and epoch.

#include <utility>

#include "lib/session/session.h"

namespace zkrecipes::session {
namespace {

constexpr int kThrottledPauses = 10;  // of a session timeout: what was throttled is asked for again

}  // namespace

// As a handle that is not connected does.
void Session::AnswerLost(zk::Handle::Done done) {
  reactor_->Post([done = std::move(done)]() mutable {
    std::move(done)(zk::Reply{.code = zk::Code::kConnectionLoss});
  });
}

machine::WatcherId Session::Watch(zk::Watch watch, zk::Handle::Done set, Watchers::Fired fired) {
  const machine::WatcherId id = watchers_.Add(watch, std::move(fired));
  const zk::SessionId session = this->id();
  const bool exists = watch.kind == zk::WatchKind::kExists;
  zk::Request request = zk::WatchNode{watch.path};
  if (exists) request = zk::WatchExists{watch.path};
  Send(request, [this, id, watch = std::move(watch), session, exists,
                 set = std::move(set)](zk::Reply&& reply) mutable {
    const bool armed = reply.code == zk::Code::kOk || (exists && reply.code == zk::Code::kNoNode);
    // A reply for an earlier session is ignored: its watchers were cleared.
    if (session == this->id() && watchers_.OnReply(id, watch, armed)) RemoveServerWatch(watch);
    std::move(set)(std::move(reply));
  });
  return id;
}

void Session::Unwatch(const zk::Watch& watch, machine::WatcherId id) {
  if (watchers_.Remove(watch, id)) RemoveServerWatch(watch);
}

// Repeated until answered: the client library sets the watch again after each reconnection. An
// answer that a server has too much to do is none.
void Session::RemoveServerWatch(const zk::Watch& watch) {
  left_behind_.insert(watch);
  if (!connected()) return;
  // A handle answers everything before its session is announced as over, which forgets all that was
  // left behind; but it may itself be closed after this Session.
  Send(zk::RemoveWatches{watch.path, watch.kind},
       [this, alive = std::weak_ptr<char>(alive_), watch](const zk::Reply& reply) {
         if (alive.expired()) return;
         if (reply.code == zk::Code::kThrottled) {
           reactor_->CallAt(reactor_->Now() + timeout_ / kThrottledPauses,
                            Guarded([this] { RemoveWatchesLeftBehind(); }));
         } else if (!zk::OutcomeUnknown(reply.code)) {
           left_behind_.erase(watch);
         }
       });
}

void Session::RemoveWatchesLeftBehind() {
  for (const zk::Watch& watch : std::exchange(left_behind_, {})) {
    if (!watchers_.Has(watch)) RemoveServerWatch(watch);
  }
}

// ---- the epoch ----------------------------------------------------------------------------------

// Before anything that listeners send on this connection, and so answered before it. Never again
// once it is known: the tokens of nodes that were created before would get an epoch that began
// after them.
void Session::BeginEpoch(bool new_session) {
  if (new_session) epoch_ = EpochIn({.code = zk::Code::kConnectionLoss});
  if (!options_.epoch.use_record) epoch_ = 0;
  reading_epoch_ = false;
  ReadEpoch();
}

void Session::ReadEpoch() {
  if (epoch_.ok() || reading_epoch_) return;
  reading_epoch_ = true;
  const auto answers = std::make_shared<EpochAnswers>();
  if (!options_.epoch.writers.empty()) {
    // Before the data: whoever could have written that is in these ACLs.
    Send(zk::GetAcl{kEpochParent},
         [answers](zk::Reply&& r) { answers->parent_acl = std::move(r); });
    Send(zk::GetAcl{kEpochPath}, [answers](zk::Reply&& r) { answers->record_acl = std::move(r); });
  }
  Send(zk::Get{kEpochPath},
       [this, alive = std::weak_ptr<char>(alive_), session = id(), answers](zk::Reply&& reply) {
         answers->record = std::move(reply);
         if (!alive.expired() && session == id()) OnEpoch(*answers);
       });
}

void Session::OnEpoch(const EpochAnswers& answers) {
  reading_epoch_ = false;
  if (LostWithConnection(answers)) return;
  epoch_ = BelievedEpoch(answers, options_.epoch.writers);
  if (epoch_.ok()) return;
  const absl::Status why = epoch_.status();
  ForEach(proof_listeners_, [&why](ProofListener* listener) { listener->OnEpochUnreadable(why); });
}

}  // namespace zkrecipes::session
