// SPDX-License-Identifier: Apache-2.0
//
// Upgrades and downgrades in a MachineWorld.

#include "lib/zk/path.h"
#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {

bool MachineWorld::CanFollow(const Contestant& c) const {
  return c.then.has_value() && c.follower < 0 && Believes(c);
}

// While it is being upgraded or downgraded its owner keeps it.
bool MachineWorld::CanRelease(const Contestant& c) const {
  if (c.machine.state() != queue::Contender::State::kHeld) return false;
  return c.follower < 0 || contestants_[c.follower].finished;
}

void MachineWorld::Follow(int contestant) {
  const Contestant& c = contestants_[contestant];
  queue::Candidacy spec = c.spec;
  spec.mode = *c.then;
  spec.follows = {zk::NodeName(c.node), c.session, c.token};
  const auto follower = static_cast<int>(contestants_.size());
  contestants_[contestant].follower = follower;
  Enter(c.client, spec, std::nullopt, contestant);
}

// As the recipe does it: the lease before is released once the next one is granted.
void MachineWorld::TakeOver(int follower) {
  const int followed = contestants_[follower].followed;
  if (contestants_[followed].overtaken) Violate("a writer came in between");
  if (!contestants_[followed].told_to_leave) Leave(followed);
}

void MachineWorld::CheckRefusal(const Contestant& follower) {
  const Contestant& followed = contestants_[follower.followed];
  if (follower.outcome == queue::Outcome::kFollowedLost && Believes(followed) &&
      HasLiveNode(followed)) {
    Violate("did not go on from a lease that is held");
  }
  if (follower.outcome == queue::Outcome::kWriterQueued &&
      follower.spec.mode == queue::Mode::kShared) {
    Violate("a downgrade that a writer refused");
  }
}

void MachineWorld::Overtake(int writer) {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    Contestant& c = contestants_[i];
    if (static_cast<int>(i) != writer && c.then.has_value() && c.granted) c.overtaken = true;
  }
}

}  // namespace zkrecipes::explore
