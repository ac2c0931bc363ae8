// SPDX-License-Identifier: Apache-2.0

#include "absl/time/clock.h"

#include "verification/faults/kinds.h"

namespace zkrecipes::faults {
namespace {

constexpr double kLossy = 0.3;
constexpr double kLossyMembers = 0.2;
constexpr Slowness kSlow = {.each_way = absl::Milliseconds(200)};
constexpr Slowness kSlowMembers = {.each_way = absl::Milliseconds(100)};
constexpr Slowness kNarrow = {.bytes_per_second = 2'000};

enum class Way { kTo, kFrom, kBoth };

// What passes between a host and the others is dropped.
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

auto MendAll(Scene& scene, std::vector<Host> hosts) {
  return [&network = scene.network, hosts = std::move(hosts)] {
    return ForEach(hosts, [&](const Host& host) { return network.Mend(host); });
  };
}

auto EndSlow(Scene& scene, std::vector<Host> hosts) {
  return [&network = scene.network, hosts = std::move(hosts)] {
    return ForEach(hosts, [&](const Host& host) { return network.Slow(host, {}); });
  };
}

absl::StatusOr<Ongoing> CutMember(Scene& scene, int i, std::string name, Way way) {
  const Host host = scene.servers.host(i);
  return Begun(std::move(name), Cut(scene.network, host, MemberHosts(scene), way),
               MendAll(scene, {host}));
}

absl::StatusOr<Ongoing> CutLeader(Scene& scene, Way way) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  return CutMember(scene, members->front(), LeaderName(members->front()), way);
}

absl::StatusOr<Ongoing> PartitionFollower(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  return CutMember(scene, members->at(1), MemberName(members->at(1)), Way::kBoth);
}

absl::StatusOr<Ongoing> PartitionLeader(Scene& scene) { return CutLeader(scene, Way::kBoth); }
absl::StatusOr<Ongoing> LeaderDeaf(Scene& scene) { return CutLeader(scene, Way::kTo); }
absl::StatusOr<Ongoing> LeaderMute(Scene& scene) { return CutLeader(scene, Way::kFrom); }

std::vector<Host> ClientHosts(const Scene& scene) {
  std::vector<Host> hosts;
  for (int i = 0; i < scene.clients.size(); ++i) hosts.push_back(scene.clients.host(i));
  return hosts;
}

absl::StatusOr<Ongoing> IsolateLeader(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const Host host = scene.servers.host(members->front());
  absl::Status cut = Cut(scene.network, host, MemberHosts(scene), Way::kBoth);
  cut.Update(Cut(scene.network, host, ClientHosts(scene), Way::kBoth));
  return Begun(LeaderName(members->front()), cut, MendAll(scene, {host}));
}

absl::StatusOr<Ongoing> CutLink(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const Host leader = scene.servers.host(members->at(0));
  const Host follower = scene.servers.host(members->at(1));
  return Begun(Names({members->at(0), members->at(1)}),
               Cut(scene.network, leader, {follower}, Way::kBoth), MendAll(scene, {leader}));
}

absl::StatusOr<Ongoing> LossyMembers(Scene& scene) {
  const std::vector<Host> hosts = MemberHosts(scene);
  const absl::Status cut = ForEach(hosts, [&](const Host& host) {
    return Cut(scene.network, host, hosts, Way::kTo, kLossyMembers);
  });
  return Begun("all servers", cut, MendAll(scene, hosts));
}

absl::StatusOr<Ongoing> SlowMembers(Scene& scene) {
  const std::vector<Host> hosts = MemberHosts(scene);
  const absl::Status slow =
      ForEach(hosts, [&](const Host& host) { return scene.network.Slow(host, kSlowMembers); });
  return Begun("all servers", slow, EndSlow(scene, hosts));
}

absl::StatusOr<Ongoing> CutClient(Scene& scene, Way way, double share = 1) {
  const int i = AnyClient(scene);
  const Host host = scene.clients.host(i);
  return Begun(ClientName(i), Cut(scene.network, host, MemberHosts(scene), way, share),
               MendAll(scene, {host}));
}

absl::StatusOr<Ongoing> PartitionClient(Scene& scene) { return CutClient(scene, Way::kBoth); }
absl::StatusOr<Ongoing> ExpireClient(Scene& scene) {
  auto cut = PartitionClient(scene);
  if (cut.ok()) absl::SleepFor(UntilExpired(scene));
  return cut;
}

absl::StatusOr<Ongoing> ClientDeaf(Scene& scene) { return CutClient(scene, Way::kTo); }
absl::StatusOr<Ongoing> ClientMute(Scene& scene) { return CutClient(scene, Way::kFrom); }
absl::StatusOr<Ongoing> LossyClient(Scene& scene) { return CutClient(scene, Way::kBoth, kLossy); }

absl::StatusOr<Ongoing> SlowDownClient(Scene& scene, const Slowness& slowness) {
  const int i = AnyClient(scene);
  const Host host = scene.clients.host(i);
  return Begun(ClientName(i), scene.network.Slow(host, slowness), EndSlow(scene, {host}));
}

absl::StatusOr<Ongoing> SlowClient(Scene& scene) { return SlowDownClient(scene, kSlow); }
absl::StatusOr<Ongoing> NarrowClient(Scene& scene) { return SlowDownClient(scene, kNarrow); }

}  // namespace

std::vector<Fault> MemberNetworkFaults() {
  using absl::Seconds;
  return {
      {"partition_follower", "a follower is cut off from the other servers, not from clients", true,
       Seconds(6), PartitionFollower},
      {"partition_leader", "the leader is cut off from the other servers, not from clients", true,
       Seconds(6), PartitionLeader},
      {"isolate_leader", "the leader is cut off from servers and clients", true, Seconds(6),
       IsolateLeader},
      {"leader_deaf", "the leader hears no other server, but they hear it", true, Seconds(6),
       LeaderDeaf},
      {"leader_mute", "no other server hears the leader, but it hears them", true, Seconds(6),
       LeaderMute},
      {"cut_link", "the leader and a follower do not hear each other; others hear both", true,
       Seconds(6), CutLink},
      {"lossy_members", "of packets between servers 20 % are lost", true, Seconds(8), LossyMembers},
      {"slow_members", "between servers packets take 100 ms longer", true, Seconds(8), SlowMembers},
  };
}

std::vector<Fault> ClientNetworkFaults() {
  using absl::Seconds;
  return {
      {"partition_client", "a client is cut off, not as long as its session lasts", true,
       Seconds(2), PartitionClient},
      {"expire_client", "a client is cut off until its session is over", true, Seconds(1),
       ExpireClient},
      {"client_deaf", "a client hears no server, but they hear it", true, Seconds(6), ClientDeaf},
      {"client_mute", "no server hears a client, but it hears them", true, Seconds(6), ClientMute},
      {"lossy_client", "of a client's packets 30 % are lost, each way", true, Seconds(8),
       LossyClient},
      {"slow_client", "a client's packets take 200 ms longer, each way", true, Seconds(8),
       SlowClient},
      {"narrow_client", "a client has 2 kB/s, each way", true, Seconds(8), NarrowClient},
  };
}

}  // namespace zkrecipes::faults
