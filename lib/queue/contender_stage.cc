// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/contender_stage.h"

#include "lib/queue/contender_script.h"

namespace zkrecipes::queue {

using State = Contender::State;

static Stage WithoutParent(const ContenderSpec& spec) {
  Stage s;
  s.world.AddClient();
  s.world.AddClient();
  s.me = s.world.Enter(kMe, spec);
  return s;
}

Stage Outside() {
  Stage s;
  s.world.AddClient();
  s.world.AddClient();
  s.world.Leave(s.world.Enter(kOther, Lock()));
  const int maker = s.world.Enter(kOther, Lock());  // makes the parent
  s.world.Settle();
  s.world.Leave(maker);
  s.world.Settle();
  s.world.Drop(kMe);
  s.me = s.world.Enter(kMe, Lock());
  return s;
}

static Stage Joining() {
  Stage s = Outside();
  s.world.Reconnect(kMe);
  return s;
}

static Stage JoiningWithItsNode() {
  Stage s = Joining();
  s.Exchange(1);
  return s;
}

Stage Probing() {
  Stage s = WithoutParent(Try());
  s.world.Reconnect(kMe);
  return s;
}

Stage MakingParents() {
  Stage s = WithoutParent(At("/a/b"));
  s.world.Reconnect(kMe);
  s.Exchange(3);
  return s;
}

static Stage ResolvingAfter(size_t executed, size_t late) {
  Stage s = Joining();
  s.world.Drop(kMe, executed, late);
  return s;
}

static Stage ResolvingApplied() { return ResolvingAfter(1, 0); }
static Stage ResolvingNotApplied() { return ResolvingAfter(0, 0); }
static Stage ResolvingAppliedLate() { return ResolvingAfter(0, 1); }

static Stage ResolvingConnected() {
  Stage s = ResolvingAppliedLate();
  s.world.Reconnect(kMe);
  return s;
}

static Stage ResolvingBehindTheBarrier() {
  Stage s = ResolvingConnected();
  s.Exchange(1);
  return s;
}

static Stage Adopting() {
  Stage s = ResolvingBehindTheBarrier();
  s.Exchange(1);
  return s;
}

static Stage AdoptingItsOwn() {
  Stage s = Adopting();
  s.Exchange(1);
  return s;
}

static Stage Held() {
  Stage s = Joining();
  s.Exchange(2);
  return s;
}

static Stage HeldWithItsWatch() {
  Stage s = Held();
  s.world.WatchOwnNode(s.me);
  s.Exchange(1);
  return s;
}

Stage WatchInFlight() {
  Stage s = Outside();
  s.other = s.world.Enter(kOther, Lock());
  while (s.world.Execute(kOther) || s.world.Deliver(kOther)) {
  }
  s.world.Reconnect(kMe);
  s.Exchange(2);
  return s;
}

static Stage Watching() {
  Stage s = WatchInFlight();
  s.Exchange(1);
  return s;
}

static Stage WatchingWithItsOwnWatch() {
  Stage s = Watching();
  s.world.WatchOwnNode(s.me);
  s.Exchange(1);
  return s;
}

static Stage Listing() {
  Stage s = Watching();
  s.world.Leave(s.other);
  s.world.Execute(kOther);
  s.world.Deliver(kMe);
  return s;
}

static Stage ListingUnconnected() {
  Stage s = JoiningWithItsNode();
  s.world.Drop(kMe);
  return s;
}

static Stage Leaving() {
  Stage s = Held();
  s.world.Leave(s.me);
  return s;
}

static Stage LeavingUnconnected() {
  Stage s = Held();
  s.world.Drop(kMe);
  s.world.Leave(s.me);
  return s;
}

static Stage LeavingTheQueue() {
  Stage s = WatchInFlight();
  s.world.Leave(s.me);
  return s;
}

const std::vector<Situation>& Situations() {
  static const std::vector<Situation> kAll = {
      {"Outside", Outside, State::kOutside},
      {"Probing", Probing, State::kProbing},
      {"MakingParents", MakingParents, State::kMakingParents},
      {"Joining", Joining, State::kJoining},
      {"JoiningWithItsNode", JoiningWithItsNode, State::kJoining},
      {"ResolvingApplied", ResolvingApplied, State::kResolving},
      {"ResolvingNotApplied", ResolvingNotApplied, State::kResolving},
      {"ResolvingAppliedLate", ResolvingAppliedLate, State::kResolving},
      {"ResolvingConnected", ResolvingConnected, State::kResolving},
      {"ResolvingBehindTheBarrier", ResolvingBehindTheBarrier, State::kResolving},
      {"Adopting", Adopting, State::kAdopting},
      {"AdoptingItsOwn", AdoptingItsOwn, State::kAdopting},
      {"Listing", Listing, State::kListing},
      {"ListingUnconnected", ListingUnconnected, State::kListing},
      {"WatchInFlight", WatchInFlight, State::kWatching},
      {"Watching", Watching, State::kWatching},
      {"WatchingWithItsOwnWatch", WatchingWithItsOwnWatch, State::kWatching},
      {"Held", Held, State::kHeld},
      {"HeldWithItsWatch", HeldWithItsWatch, State::kHeld},
      {"Leaving", Leaving, State::kLeaving},
      {"LeavingUnconnected", LeavingUnconnected, State::kLeaving},
      {"LeavingTheQueue", LeavingTheQueue, State::kLeaving},
  };
  return kAll;
}

}  // namespace zkrecipes::queue
