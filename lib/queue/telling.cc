// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/telling.h"

#include <algorithm>
#include <utility>

#include "zkrecipes/client.h"

namespace zkrecipes {

void EventListener::OnQueued(const std::string& /*path*/, int /*waits_for*/,
                             const std::string& /*behind*/) {}
void EventListener::OnPlaceLost(const std::string& /*path*/) {}
void EventListener::OnGranted(const Sequencer& /*lease*/, int64_t /*session*/,
                              absl::Duration /*after*/) {}
void EventListener::OnNotGranted(const std::string& /*path*/, const absl::Status& /*why*/,
                                 absl::Duration /*after*/) {}
void EventListener::OnSuspect(const Sequencer& /*lease*/) {}
void EventListener::OnProven(const Sequencer& /*lease*/) {}
void EventListener::OnHeldTooLong(const Sequencer& /*lease*/, absl::Duration /*held*/) {}
void EventListener::OnLost(const Sequencer& /*lease*/, LeaseEnd /*why*/) {}
void EventListener::OnReleased(const Sequencer& /*lease*/, absl::Duration /*held*/) {}
void EventListener::OnOpenParent(const std::string& /*path*/) {}

namespace internal {
namespace {

// Whether every client may delete the children of a node with this ACL, or give itself the right to.
bool StrangersMayTake(const std::vector<zk::AclEntry>& acl) {
  return std::any_of(acl.begin(), acl.end(), [](const zk::AclEntry& entry) {
    return entry.scheme == "world" && (entry.permissions & (kDelete | kAdmin)) != 0;
  });
}

}  // namespace

Telling::Telling(std::shared_ptr<ClientCore> core, std::string path, std::vector<zk::AclEntry> acl,
                 Listeners listeners)
    : core_(std::move(core)),
      path_(std::move(path)),
      acl_(std::move(acl)),
      subscriber_(std::make_shared<session::Subscriber<News>>(
          core_->executor(),
          [listeners = std::move(listeners)](const News& news) {
            for (const auto& listener : listeners) news(*listener);
          })),
      began_(core_->Now()) {}

void Telling::Look(const queue::Contender& contender) {
  const bool had_node = std::exchange(has_node_, !contender.node().empty());
  if (had_node && !has_node_) {
    waits_for_ = 0;
    Tell([path = path_](EventListener& to) { to.OnPlaceLost(path); });
  }
  if (contender.state() != queue::Contender::State::kWatching) return;
  const queue::InFront& lower = contender.lower();
  if (waits_for_ == lower.size() && behind_ == lower.back()) return;
  waits_for_ = lower.size();
  behind_ = lower.back();
  Tell([path = path_, n = static_cast<int>(waits_for_), behind = behind_](EventListener& to) {
    to.OnQueued(path, n, behind);
  });
}

void Telling::Granted(std::shared_ptr<LeaseState> lease) {
  lease_ = std::move(lease);
  granted_ = core_->Now();
  Tell([sequencer = lease_->sequencer(), session = lease_->session(),
        after = granted_ - began_](EventListener& to) { to.OnGranted(sequencer, session, after); });
  LookAtLease();
  LookAtParent();
}

// What the server does not show, or does not answer, is looked at again with the next grant.
void Telling::LookAtParent() {
  if (StrangersMayTake(acl_) || core_->HasLookedAt(path_)) return;
  core_->sessions().first()->Send(
      zk::GetAcl{core_->name_space().ToServer(path_)},
      [core = core_, path = path_, subscriber = subscriber_](const zk::Reply& reply) {
        if (reply.code != zk::Code::kOk || core->HasLookedAt(path)) return;
        core->LookedAt(path);
        if (!StrangersMayTake(reply.acl)) return;
        subscriber->Tell([path](EventListener& to) { to.OnOpenParent(path); });
      });
}

void Telling::NotGranted(const absl::Status& why) {
  Tell([path = path_, why, after = core_->Now() - began_](EventListener& to) {
    to.OnNotGranted(path, why, after);
  });
}

void Telling::LookAtLease() {
  if (lease_ == nullptr) return;
  const Lease::State now = lease_->state();
  if (now == Lease::State::kSuspect && !std::exchange(suspect_, true)) {
    Tell([sequencer = lease_->sequencer()](EventListener& to) { to.OnSuspect(sequencer); });
  }
  if (now == Lease::State::kHeld && std::exchange(suspect_, false)) {
    Tell([sequencer = lease_->sequencer()](EventListener& to) { to.OnProven(sequencer); });
  }
}

void Telling::HeldTooLong() {
  if (lease_ == nullptr || lease_->end_reason().has_value()) return;
  Tell([sequencer = lease_->sequencer(), held = held()](EventListener& to) {
    to.OnHeldTooLong(sequencer, held);
  });
}

void Telling::Ended() {
  if (lease_ == nullptr) return;
  const Sequencer sequencer = lease_->sequencer();
  const LeaseEnd why = lease_->end_reason().value_or(LeaseEnd::kReleased);
  lease_ = nullptr;
  Tell([sequencer, why, held = held()](EventListener& to) {
    why == LeaseEnd::kReleased ? to.OnReleased(sequencer, held) : to.OnLost(sequencer, why);
  });
}

}  // namespace internal
}  // namespace zkrecipes
