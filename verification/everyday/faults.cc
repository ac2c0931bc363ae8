// SPDX-License-Identifier: Apache-2.0

#include "absl/time/time.h"

#include "verification/everyday/names.h"

namespace zkrecipes::everyday {
namespace {

using absl::Milliseconds;
using absl::Seconds;
using faults::Arena;
using faults::Fault;
using faults::Targets;
using faults::Whom;

constexpr absl::Duration kJoining = Seconds(60);

Names* the_names = nullptr;  // a fault is two plain functions

absl::Status Pause(Arena& arena, const Targets& targets) {
  absl::Status status;
  for (const int i : targets.numbers) status.Update(arena.servers.Pause(i));
  return status;
}

absl::Status Resume(Arena& arena, const Targets& targets) {
  absl::Status status;
  for (const int i : targets.numbers) status.Update(arena.servers.Resume(i));
  return status;
}

// Packets between these servers and the clients are lost, each way.
absl::Status CutFromClients(Arena& arena, const Targets& targets) {
  const servers::Host clients = arena.clients.host(0);
  absl::Status status;
  for (const int i : targets.numbers) {
    const servers::Host server = the_names->host(arena.servers, i);
    status.Update(arena.network.Drop(clients, server));
    status.Update(arena.network.Drop(server, clients));
  }
  return status;
}

absl::Status CutFromAll(Arena& arena, const Targets& targets) {
  absl::Status status = CutFromClients(arena, targets);
  const servers::Host own = arena.servers.host(targets.numbers.front());
  for (int i = 0; i < arena.servers.size(); ++i) {
    if (i == targets.numbers.front()) continue;
    status.Update(arena.network.Drop(own, arena.servers.host(i)));
    status.Update(arena.network.Drop(arena.servers.host(i), own));
  }
  return status;
}

absl::Status Mend(Arena& arena, const Targets& targets) {
  absl::Status status = arena.network.Mend(arena.clients.host(0));
  for (const int i : targets.numbers) status.Update(arena.network.Mend(arena.servers.host(i)));
  return status;
}

// As when pods are made anew: the leader last, and each only when the others serve.
absl::Status MoveEach(Arena& arena, const Targets& targets) {
  absl::Status status;
  for (auto i = targets.numbers.rbegin(); i != targets.numbers.rend() && status.ok(); ++i) {
    status = arena.servers.Kill(*i);
    if (status.ok()) status = the_names->Move(arena.servers, *i);
    if (status.ok()) status = arena.servers.Start(*i);
    if (status.ok()) status = arena.servers.WaitForAll(kJoining);
  }
  return status;
}

absl::Status StartAll(Arena& arena, const Targets& targets) {
  absl::Status status;
  for (const int i : targets.numbers) status.Update(arena.servers.Start(i));
  return status;
}

// clang-format off
constexpr Fault kFaults[] = {
    {"stop_follower", "a follower stands still for 25 s",
     Seconds(25), Whom::kFollower, Pause, Resume},
    {"stop_leader_still", "the leader stands still for 15 s",
     Seconds(15), Whom::kLeader, Pause, Resume},
    {"stall_1", "all servers stand still for 1 s",
     Seconds(1), Whom::kAllMembers, Pause, Resume},
    {"stall_2.5", "all servers stand still for 2.5 s",
     Milliseconds(2500), Whom::kAllMembers, Pause, Resume},
    {"stall_3.5", "all servers stand still for 3.5 s",
     Milliseconds(3500), Whom::kAllMembers, Pause, Resume},
    {"drop_one", "all packets of a follower are dropped for 25 s",
     Seconds(25), Whom::kFollower, CutFromAll, Mend},
    {"drop_two", "packets between clients and two of three servers are dropped for 25 s",
     Seconds(25), Whom::kMajority, CutFromClients, Mend},
    {"move", "each server moves to a new address, one after another, and its name follows",
     Seconds(5), Whom::kAllMembers, MoveEach, StartAll},
};
// clang-format on

// Those of the catalogue that belong to everyday life.
constexpr const char* kOfTheCatalogue[] = {"kill_follower",    "kill_leader",   "stop_leader",
                                           "rolling_restart",  "slow_fsync",    "slow_fsync_all",
                                           "partition_leader", "lossy_members", "slow_members"};

}  // namespace

std::vector<Fault> EverydayFaults(Names& names) {
  the_names = &names;
  std::vector<Fault> all(std::begin(kFaults), std::end(kFaults));
  for (const char* name : kOfTheCatalogue) all.push_back(*faults::FindFault(name));
  return all;
}

}  // namespace zkrecipes::everyday
