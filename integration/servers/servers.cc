// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/servers.h"

#include <cstdio>

#include "testing/local/quorum.h"
#include "zkrecipes/client.h"

namespace zkrecipes::servers {
namespace {

// To open a session is a committed write. A healthy ensemble needs milliseconds for it.
bool Commits(const Servers& servers) {
  return Client::Connect({.servers = servers.list()}, {absl::Seconds(10)}).ok();
}

absl::Status ResumeAndStart(Servers& servers) {
  for (int i = 0; i < servers.size(); ++i) {
    const absl::Status resumed = servers.Resume(i);
    if (!resumed.ok() && !absl::IsFailedPrecondition(resumed)) return resumed;
  }
  absl::Status status;
  for (int i = 0; i < servers.size(); ++i) status.Update(servers.Start(i));
  return status;
}

// Kills the members that do not serve, or else the leader.
absl::Status KillFailing(Servers& servers) {
  std::vector<std::string> addresses;
  for (int i = 0; i < servers.size(); ++i) addresses.push_back(servers.server(i));
  const testing::QuorumView view = testing::AskModes(addresses);
  if (view.AllServe()) return servers.Kill(*view.Leader());
  absl::Status status;
  for (int i = 0; i < servers.size(); ++i) {
    if (!testing::Serves(view.modes[static_cast<size_t>(i)])) status.Update(servers.Kill(i));
  }
  return status;
}

}  // namespace

absl::Status Servers::FillDisk(int) { return absl::UnimplementedError("cannot fill this disk"); }
absl::Status Servers::FreeDisk(int) { return absl::UnimplementedError("cannot free this disk"); }
absl::Status Servers::SlowDisk(int, absl::Duration) {
  return absl::UnimplementedError("cannot make this disk slow");
}

absl::Status Heal(Servers& servers, absl::Duration timeout) {
  if (servers.WaitForAll(absl::ZeroDuration()).ok()) return absl::OkStatus();
  for (int again = 2;; --again) {
    absl::Status status = ResumeAndStart(servers);
    if (!status.ok()) return status;
    status = servers.WaitForAll(timeout / 2);
    if (status.ok() && Commits(servers)) return absl::OkStatus();
    if (status.ok()) status = absl::UnavailableError("all serve, and a write is not committed");
    if (again == 0) return status;
    std::fprintf(stderr, "to be healed again: %s\n", status.ToString().c_str());
    if (absl::Status killed = KillFailing(servers); !killed.ok()) return killed;
  }
}

}  // namespace zkrecipes::servers
