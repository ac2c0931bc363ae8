// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/kinds.h"

namespace zkrecipes::faults {
namespace {

// To join again, and to learn what it has missed.
constexpr absl::Duration kJoining = absl::Seconds(60);

auto StartAgain(Scene& scene, std::vector<int> members) {
  return [&servers = scene.servers, members = std::move(members)] {
    return ForEach(members, [&](int i) { return servers.Start(i); });
  };
}

auto ResumeAll(Scene& scene, std::vector<int> members) {
  return [&servers = scene.servers, members = std::move(members)] {
    return ForEach(members, [&](int i) { return servers.Resume(i); });
  };
}

// The leader and as many followers as leave no majority without them.
std::vector<int> Majority(const std::vector<int>& members) {
  return {members.begin(), members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2 + 1)};
}

absl::StatusOr<Ongoing> KillFollower(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const int i = members->at(1);
  return Begun(MemberName(i), scene.servers.Kill(i), StartAgain(scene, {i}));
}

absl::StatusOr<Ongoing> KillLeader(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const int i = members->front();
  return Begun(LeaderName(i), scene.servers.Kill(i), StartAgain(scene, {i}));
}

absl::StatusOr<Ongoing> StopLeader(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const int i = members->front();
  return Begun(LeaderName(i), scene.servers.Stop(i), StartAgain(scene, {i}));
}

absl::StatusOr<Ongoing> PauseFollower(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const int i = members->at(1);
  return Begun(MemberName(i), scene.servers.Pause(i), ResumeAll(scene, {i}));
}

absl::StatusOr<Ongoing> PauseLeader(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const int i = members->front();
  return Begun(LeaderName(i), scene.servers.Pause(i), ResumeAll(scene, {i}));
}

// Until it has joined again the ensemble must not lose another: a member that forgot what it has
// acknowledged could make a majority that does not know it.
absl::StatusOr<Ongoing> WipeFollower(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const int i = members->at(1);
  return Begun(MemberName(i), scene.servers.Wipe(i), [&servers = scene.servers, i] {
    absl::Status status = servers.Start(i);
    status.Update(servers.WaitForAll(kJoining));
    return status;
  });
}

absl::Status RestartOne(Servers& servers, int i) {
  absl::Status status = servers.Stop(i);
  if (status.ok()) status = servers.Start(i);
  if (status.ok()) status = servers.WaitForAll(kJoining);
  return status;
}

// As operators do: the leader last.
absl::StatusOr<Ongoing> RollingRestart(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  absl::Status status;
  for (auto i = members->rbegin(); i != members->rend() && status.ok(); ++i) {
    status = RestartOne(scene.servers, *i);
  }
  return Begun("all servers, one after the other", status, StartAgain(scene, *members));
}

absl::StatusOr<Ongoing> LoseQuorum(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const std::vector<int> most = Majority(*members);
  return Begun(Names(most), ForEach(most, [&](int i) { return scene.servers.Kill(i); }),
               StartAgain(scene, most));
}

absl::StatusOr<Ongoing> PauseQuorum(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  const std::vector<int> most = Majority(*members);
  return Begun(Names(most), ForEach(most, [&](int i) { return scene.servers.Pause(i); }),
               ResumeAll(scene, most));
}

absl::StatusOr<Ongoing> KillAll(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  return Begun("all servers", ForEach(*members, [&](int i) { return scene.servers.Kill(i); }),
               StartAgain(scene, *members));
}

}  // namespace

std::vector<Fault> ServerFaults() {
  using absl::Seconds;
  return {
      {"kill_follower", "a follower is killed, and started again", true, Seconds(3), KillFollower},
      {"kill_leader", "the leader is killed, and started again", true, Seconds(3), KillLeader},
      {"stop_leader", "the leader is stopped in order, and started again", true, Seconds(3),
       StopLeader},
      {"pause_follower", "a follower stands still, longer than the leader bears", true, Seconds(5),
       PauseFollower},
      {"pause_leader", "the leader stands still, until others have elected another", true,
       Seconds(6), PauseLeader},
      {"wipe_follower", "a follower is killed, and started again without its data", true,
       Seconds(2), WipeFollower},
      {"rolling_restart", "all are restarted one after the other, the leader last", true,
       Seconds(1), RollingRestart},
      {"lose_quorum", "the leader and enough others for a majority are killed", true, Seconds(5),
       LoseQuorum},
      {"pause_quorum", "the leader and enough others for a majority stand still", true, Seconds(6),
       PauseQuorum},
      {"kill_all", "all are killed at once", true, Seconds(3), KillAll},
  };
}

}  // namespace zkrecipes::faults
