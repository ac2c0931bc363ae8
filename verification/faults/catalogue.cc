// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/catalogue.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "absl/random/distributions.h"
#include "absl/time/clock.h"

namespace zkrecipes::faults {
namespace {

using absl::Milliseconds;
using absl::Seconds;

// To join again, and to learn what a member has missed.
constexpr absl::Duration kJoining = Seconds(60);

// Does one thing after the other to each; all are tried, and the first error is returned.
template <typename List, typename Act>
absl::Status ForEach(const List& list, Act act) {
  absl::Status status;
  for (const auto& one : list) status.Update(act(one));
  return status;
}

template <auto kMethod>
absl::Status Do(Arena& arena, const Targets& targets) {
  return ForEach(targets.numbers, [&](int i) {
    if constexpr (std::is_invocable_v<decltype(kMethod), Servers&, int>) {
      return (arena.servers.*kMethod)(i);
    } else {
      return (arena.clients.*kMethod)(i);
    }
  });
}

// Until the servers have expired a session that they do not hear of. They do so up to a tick late,
// and slow ones are later.
template <Fault::Act kBegin>
absl::Status UntilExpired(Arena& arena, const Targets& targets) {
  const absl::Status begun = kBegin(arena, targets);
  if (begun.ok()) absl::SleepFor(arena.clients.session_timeout() * 1.5);
  return begun;
}

// ---- servers and their disks --------------------------------------------------------------------

// Until it has joined again the ensemble must not lose another: a member that forgot what it has
// acknowledged could make a majority that does not know it.
absl::Status StartAndJoin(Arena& arena, const Targets& targets) {
  absl::Status status = Do<&Servers::Start>(arena, targets);
  status.Update(arena.servers.WaitForAll(kJoining));
  return status;
}

// As operators do: the leader last.
absl::Status RestartEach(Arena& arena, const Targets& targets) {
  absl::Status status;
  for (auto i = targets.numbers.rbegin(); i != targets.numbers.rend() && status.ok(); ++i) {
    status = arena.servers.Stop(*i);
    if (status.ok()) status = arena.servers.Start(*i);
    if (status.ok()) status = arena.servers.WaitForAll(kJoining);
  }
  return status;
}

// ZooKeeper 3.8 does not recover by itself: the server may even go on leading, without a commit. So
// it is started again, and never writes on behind what it could not write.
absl::Status FreeAndRestart(Arena& arena, const Targets& targets) {
  absl::Status status = Do<&Servers::Kill>(arena, targets);
  status.Update(Do<&Servers::FreeDisk>(arena, targets));
  status.Update(Do<&Servers::Start>(arena, targets));
  return status;
}

template <int kMilliseconds>
absl::Status SyncTakes(Arena& arena, const Targets& targets) {
  return ForEach(targets.numbers,
                 [&](int i) { return arena.servers.SlowDisk(i, Milliseconds(kMilliseconds)); });
}

// ---- the network --------------------------------------------------------------------------------

template <typename Party>
std::vector<Host> HostsOf(const Party& party) {
  std::vector<Host> hosts;
  for (int i = 0; i < party.size(); ++i) hosts.push_back(party.host(i));
  return hosts;
}

std::vector<Host> HostsOf(const Arena& arena, const Targets& targets) {
  std::vector<Host> hosts;
  for (const int i : targets.numbers) {
    hosts.push_back(targets.clients ? arena.clients.host(i) : arena.servers.host(i));
  }
  return hosts;
}

enum class Way { kTo, kFrom, kBoth };

// Drops the packets between a host and the others.
absl::Status Cut(Network& network, const Host& host, const std::vector<Host>& others, Way way,
                 double share = 1) {
  return ForEach(others, [&](const Host& other) {
    absl::Status status;
    if (other.address == host.address) return status;
    if (way != Way::kFrom) status.Update(network.Drop(other, host, share));
    if (way != Way::kTo) status.Update(network.Drop(host, other, share));
    return status;
  });
}

template <Way kWay, int kPercent = 100>
absl::Status CutFromMembers(Arena& arena, const Targets& targets) {
  const std::vector<Host> members = HostsOf(arena.servers);
  return ForEach(HostsOf(arena, targets), [&](const Host& host) {
    return Cut(arena.network, host, members, kWay, kPercent / 100.0);
  });
}

absl::Status CutFromAll(Arena& arena, const Targets& targets) {
  absl::Status status = CutFromMembers<Way::kBoth>(arena, targets);
  status.Update(
      Cut(arena.network, HostsOf(arena, targets).front(), HostsOf(arena.clients), Way::kBoth));
  return status;
}

absl::Status CutFromEachOther(Arena& arena, const Targets& targets) {
  const std::vector<Host> hosts = HostsOf(arena, targets);
  return Cut(arena.network, hosts.at(0), {hosts.at(1)}, Way::kBoth);
}

absl::Status Mend(Arena& arena, const Targets& targets) {
  return ForEach(HostsOf(arena, targets),
                 [&](const Host& host) { return arena.network.Mend(host); });
}

template <int kMilliseconds, int kBytesPerSecond = 0>
absl::Status Slow(Arena& arena, const Targets& targets) {
  return ForEach(HostsOf(arena, targets), [&](const Host& host) {
    return arena.network.Slow(
        host, {.each_way = Milliseconds(kMilliseconds), .bytes_per_second = kBytesPerSecond});
  });
}

// ---- clients ------------------------------------------------------------------------------------

// Up to a day, either way.
absl::Status SetClockWrong(Arena& arena, const Targets& targets) {
  const absl::Duration hours = absl::Hours(absl::Uniform(arena.random, 1, 24));
  const bool back = absl::Bernoulli(arena.random, 0.5);
  return arena.clients.SetClock(targets.numbers.front(), back ? -hours : hours);
}

absl::Status SetClockRight(Arena& arena, const Targets& targets) {
  return arena.clients.SetClock(targets.numbers.front(), absl::ZeroDuration());
}

// ---- the table ----------------------------------------------------------------------------------

// Name, summary, how long it lasts, whom it hits, how it begins and how it ends.
// clang-format off
constexpr Fault kFaults[] = {
    {"kill_follower", "a follower is killed, and started again",
     Seconds(3), Whom::kFollower, Do<&Servers::Kill>, Do<&Servers::Start>},
    {"kill_leader", "the leader is killed, and started again",
     Seconds(3), Whom::kLeader, Do<&Servers::Kill>, Do<&Servers::Start>},
    {"stop_leader", "the leader is stopped in order, and started again",
     Seconds(3), Whom::kLeader, Do<&Servers::Stop>, Do<&Servers::Start>},
    {"pause_follower", "a follower stands still, longer than the leader bears",
     Seconds(5), Whom::kFollower, Do<&Servers::Pause>, Do<&Servers::Resume>},
    {"pause_leader", "the leader stands still, until others have elected another",
     Seconds(6), Whom::kLeader, Do<&Servers::Pause>, Do<&Servers::Resume>},
    {"wipe_follower", "a follower is killed, and started again without its data",
     Seconds(2), Whom::kFollower, Do<&Servers::Wipe>, StartAndJoin},
    {"rolling_restart", "all are restarted one after the other, the leader last",
     Seconds(1), Whom::kAllMembers, RestartEach, Do<&Servers::Start>},
    {"lose_quorum", "the leader and enough others for a majority are killed",
     Seconds(5), Whom::kMajority, Do<&Servers::Kill>, Do<&Servers::Start>},
    {"pause_quorum", "the leader and enough others for a majority stand still",
     Seconds(6), Whom::kMajority, Do<&Servers::Pause>, Do<&Servers::Resume>},
    {"kill_all", "all are killed at once",
     Seconds(3), Whom::kAllMembers, Do<&Servers::Kill>, Do<&Servers::Start>},
    {"partition_follower", "a follower is cut off from the other servers, not from clients",
     Seconds(6), Whom::kFollower, CutFromMembers<Way::kBoth>, Mend},
    {"partition_leader", "the leader is cut off from the other servers, not from clients",
     Seconds(6), Whom::kLeader, CutFromMembers<Way::kBoth>, Mend},
    {"isolate_leader", "the leader is cut off from servers and clients",
     Seconds(6), Whom::kLeader, CutFromAll, Mend},
    {"leader_deaf", "the leader hears no other server, but they hear it",
     Seconds(6), Whom::kLeader, CutFromMembers<Way::kTo>, Mend},
    {"leader_mute", "no other server hears the leader, but it hears them",
     Seconds(6), Whom::kLeader, CutFromMembers<Way::kFrom>, Mend},
    {"cut_link", "the leader and a follower do not hear each other; others hear both",
     Seconds(6), Whom::kLeaderAndFollower, CutFromEachOther, Mend},
    {"lossy_members", "of packets between servers 20 % are lost",
     Seconds(8), Whom::kAllMembers, CutFromMembers<Way::kTo, 20>, Mend},
    {"slow_members", "between servers packets take 100 ms longer",
     Seconds(8), Whom::kAllMembers, Slow<100>, Slow<0>},
    {"partition_client", "a client is cut off, not as long as its session lasts",
     Seconds(2), Whom::kAnyClient, CutFromMembers<Way::kBoth>, Mend},
    {"expire_client", "a client is cut off until its session is over",
     Seconds(1), Whom::kAnyClient, UntilExpired<CutFromMembers<Way::kBoth>>, Mend},
    {"client_deaf", "a client hears no server, but they hear it",
     Seconds(6), Whom::kAnyClient, CutFromMembers<Way::kTo>, Mend},
    {"client_mute", "no server hears a client, but it hears them",
     Seconds(6), Whom::kAnyClient, CutFromMembers<Way::kFrom>, Mend},
    {"lossy_client", "of a client's packets 30 % are lost, each way",
     Seconds(8), Whom::kAnyClient, CutFromMembers<Way::kBoth, 30>, Mend},
    {"slow_client", "a client's packets take 200 ms longer, each way",
     Seconds(8), Whom::kAnyClient, Slow<200>, Slow<0>},
    {"narrow_client", "a client has 2 kB/s, each way",
     Seconds(8), Whom::kAnyClient, Slow<0, 2'000>, Slow<0>},
    {"disk_full", "a server's log has no more room; then it has again, and the server is restarted",
     Seconds(5), Whom::kAnyMember, Do<&Servers::FillDisk>, FreeAndRestart, /*in_docker=*/false},
    {"slow_fsync", "a server's log takes 400 ms longer for each sync",
     Seconds(8), Whom::kAnyMember, SyncTakes<400>, SyncTakes<0>, /*in_docker=*/false},
    {"slow_fsync_all", "all servers' logs take 400 ms longer for each sync",
     Seconds(8), Whom::kAllMembers, SyncTakes<400>, SyncTakes<0>, /*in_docker=*/false},
    {"kill_client", "a client is killed, and another takes its place",
     Seconds(2), Whom::kAnyClient, Do<&Clients::Kill>, Do<&Clients::Start>},
    {"kill_clients", "all clients are killed at once, and others take their places",
     Seconds(2), Whom::kAllClients, Do<&Clients::Kill>, Do<&Clients::Start>},
    {"pause_client", "a client stands still, not as long as its session lasts",
     Seconds(2), Whom::kAnyClient, Do<&Clients::Pause>, Do<&Clients::Resume>},
    {"pause_client_long", "a client stands still until its session is over",
     Seconds(1), Whom::kAnyClient, UntilExpired<Do<&Clients::Pause>>, Do<&Clients::Resume>},
    {"clock_client", "a client's wall clock jumps by hours",
     Seconds(4), Whom::kAnyClient, SetClockWrong, SetClockRight},
};
// clang-format on

}  // namespace

absl::StatusOr<Ongoing> Fault::Begin(Arena& arena) const {
  absl::StatusOr<Targets> targets = Choose(arena, whom);
  if (!targets.ok()) return targets.status();
  const absl::Status begun = begin(arena, *targets);
  if (begun.ok()) {
    return Ongoing{
        *targets, [arena, end = end, targets = *targets]() mutable { return end(arena, targets); }};
  }
  end(arena, *targets).IgnoreError();
  return begun;
}

std::span<const Fault> Catalogue() { return kFaults; }

const Fault* FindFault(const std::string& name) {
  const auto* const found = std::ranges::find(kFaults, name, &Fault::name);
  return found == std::end(kFaults) ? nullptr : found;
}

}  // namespace zkrecipes::faults
