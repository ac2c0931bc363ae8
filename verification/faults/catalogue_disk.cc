// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/kinds.h"

namespace zkrecipes::faults {
namespace {

constexpr absl::Duration kSlowSync = absl::Milliseconds(400);

// ZooKeeper 3.8 does not recover by itself: the server may even go on leading, without a commit. So
// it is started again, and never writes on behind what it could not write.
absl::StatusOr<Ongoing> DiskFull(Scene& scene) {
  const int i = AnyMember(scene);
  return Begun(MemberName(i), scene.servers.FillDisk(i), [&servers = scene.servers, i] {
    absl::Status status = servers.Kill(i);
    status.Update(servers.FreeDisk(i));
    status.Update(servers.Start(i));
    return status;
  });
}

absl::StatusOr<Ongoing> SlowDown(Scene& scene, std::string name, const std::vector<int>& members) {
  const absl::Status slow =
      ForEach(members, [&](int i) { return scene.servers.SlowDisk(i, kSlowSync); });
  return Begun(std::move(name), slow, [&servers = scene.servers, members] {
    return ForEach(members, [&](int i) { return servers.SlowDisk(i, absl::ZeroDuration()); });
  });
}

absl::StatusOr<Ongoing> SlowFsync(Scene& scene) {
  const int i = AnyMember(scene);
  return SlowDown(scene, MemberName(i), {i});
}

absl::StatusOr<Ongoing> SlowFsyncAll(Scene& scene) {
  const auto members = LeaderAndFollowers(scene);
  if (!members.ok()) return members.status();
  return SlowDown(scene, "all servers", *members);
}

}  // namespace

std::vector<Fault> DiskFaults() {
  using absl::Seconds;
  return {
      {"disk_full",
       "a server's log has no more room; then it has again, and the server is restarted", false,
       Seconds(5), DiskFull},
      {"slow_fsync", "a server's log takes 400 ms longer for each sync", false, Seconds(8),
       SlowFsync},
      {"slow_fsync_all", "all servers' logs take 400 ms longer for each sync", false, Seconds(8),
       SlowFsyncAll},
  };
}

}  // namespace zkrecipes::faults
