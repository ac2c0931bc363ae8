// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/lease/notifier.h"

#include <utility>

#include "lib/session/client/client_options.h"
#include "zkrecipes/client.h"

namespace zkrecipes {

EventListener* EventListener::AtOnce(const std::string& /*path*/) { return nullptr; }

namespace {

// Passes an event of `path` on to the listener that is called at once in place of `listener`.
template <typename... Parameters, typename... Arguments>
void PassOn(EventListener& listener, const std::string& path,
            void (EventListener::*event)(Parameters...), const Arguments&... arguments) {
  EventListener* const other = listener.AtOnce(path);
  // A listener that is called at once itself, and does not override the call, leaves the event out.
  if (other != nullptr && other != &listener) (other->*event)(arguments...);
}

}  // namespace

void EventListener::OnQueued(const std::string& path, int waits_for, const std::string& behind) {
  PassOn(*this, path, &EventListener::OnQueued, path, waits_for, behind);
}
void EventListener::OnPlaceLost(const std::string& path) {
  PassOn(*this, path, &EventListener::OnPlaceLost, path);
}
void EventListener::OnGranted(const Sequencer& lease, int64_t session, absl::Duration after) {
  PassOn(*this, lease.path(), &EventListener::OnGranted, lease, session, after);
}
void EventListener::OnNotGranted(const std::string& path, const absl::Status& why,
                                 absl::Duration after) {
  PassOn(*this, path, &EventListener::OnNotGranted, path, why, after);
}
void EventListener::OnSuspect(const Sequencer& lease) {
  PassOn(*this, lease.path(), &EventListener::OnSuspect, lease);
}
void EventListener::OnProven(const Sequencer& lease) {
  PassOn(*this, lease.path(), &EventListener::OnProven, lease);
}
void EventListener::OnLost(const Sequencer& lease, LeaseEnd why) {
  PassOn(*this, lease.path(), &EventListener::OnLost, lease, why);
}
void EventListener::OnReleased(const Sequencer& lease, absl::Duration held) {
  PassOn(*this, lease.path(), &EventListener::OnReleased, lease, held);
}
void EventListener::OnTurns(const Sequencer& lease, int64_t turns) {
  PassOn(*this, lease.path(), &EventListener::OnTurns, lease, turns);
}
void EventListener::OnOpenParent(const std::string& path) {
  PassOn(*this, path, &EventListener::OnOpenParent, path);
}
void EventListener::OnPartitions(const std::string& path, const PartitionsReport& now,
                                 const PartitionsReport& before) {
  // Beside its locks: a group of paths is told of both.
  PassOn(*this, path + "/partitions/0", &EventListener::OnPartitions, path, now, before);
}

namespace queue::lease {

Notifier::Notifier(internal::ClientCore& core, acquire::Acquisition& acquisition)
    : core_(core), acquisition_(acquisition), listeners_(acquisition.queue()) {}

template <typename F>
void Notifier::NotifyOfLease(F notify) {
  listeners_.Tell(notify, lease_->sequencer());
}

template <typename F>
void Notifier::NotifyOfPath(F notify) {
  listeners_.Tell(notify, acquisition_.path());
}

void Notifier::NotifyPlaceLost() {
  waits_for_ = 0;
  NotifyOfPath([](EventListener& to, const std::string& path) { to.OnPlaceLost(path); });
}

// Called after each listing: an unchanged place in the queue is no news.
void Notifier::NotifyQueued(const machine::InFront& lower) {
  const int in_front = static_cast<int>(lower.size());
  if (waits_for_ == in_front && behind_ == lower.back()) return;
  waits_for_ = in_front;
  behind_ = std::string(lower.back());
  NotifyOfPath([n = in_front, behind = behind_](EventListener& to, const std::string& path) {
    to.OnQueued(path, n, behind);
  });
}

void Notifier::Granted(internal::LeaseState& granted, const std::vector<zk::AclEntry>& acl) {
  lease_ = &granted;
  // Before the user's own code can end the lease: OnGranted comes first.
  answered_ = true;
  NotifyOfLease(
      [session = granted.session(), after = granted.granted() - acquisition_.began()](
          EventListener& to, const Sequencer& lease) { to.OnGranted(lease, session, after); });
  // A closed ACL of the nodes is worth nothing if the parent's lets strangers delete its children.
  const bool open =
      acl.empty() ? core_.open_to_strangers() : session::client::StrangersMayTake(acl);
  if (!open && !core_.known_paths().HasCheckedParent(acquisition_.path())) CheckParent();
}

// An ACL that the server does not show, or no answer, is asked for again with the next grant.
void Notifier::CheckParent() {
  core_.sessions().first()->Send(
      zk::GetAcl{core_.name_space().ToServer(acquisition_.path())},
      [core = core_.shared_from_this(), path = acquisition_.path(),
       listeners = listeners_](const zk::Reply& reply) {
        if (reply.code != zk::Code::kOk || core->known_paths().HasCheckedParent(path)) return;
        core->known_paths().CheckedParent(path);
        if (!session::client::StrangersMayTake(reply.acl)) return;
        listeners.Tell([](EventListener& to, const std::string& of) { to.OnOpenParent(of); }, path);
      });
}

void Notifier::NotifyRefused() {
  const absl::Status why = acquisition_.refusal();
  // Answered OK, by a grant that has not been reported yet: Granted follows.
  answered_ = !why.ok();
  if (!answered_) return;
  NotifyOfPath(
      [why, after = core_.Now() - acquisition_.began()](
          EventListener& to, const std::string& path) { to.OnNotGranted(path, why, after); });
}

void Notifier::NotifySuspicion() {
  const Lease::State now = lease_->state();
  // Reported in pairs: proven only after suspect.
  if (now == Lease::State::kSuspect && !std::exchange(suspect_, true)) {
    NotifyOfLease([](EventListener& to, const Sequencer& lease) { to.OnSuspect(lease); });
  }
  if (now == Lease::State::kHeld && std::exchange(suspect_, false)) {
    NotifyOfLease([](EventListener& to, const Sequencer& lease) { to.OnProven(lease); });
  }
}

// Called for a loss and for the end of the contender, whichever comes first; the second finds no
// lease.
void Notifier::Ended() {
  if (lease_ == nullptr) return;
  const LeaseEnd why = lease_->end_reason().value_or(LeaseEnd::kReleased);
  NotifyOfLease([why, held = held()](EventListener& to, const Sequencer& lease) {
    why == LeaseEnd::kReleased ? to.OnReleased(lease, held) : to.OnLost(lease, why);
  });
  lease_ = nullptr;
}

}  // namespace queue::lease
}  // namespace zkrecipes
