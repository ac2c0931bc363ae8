// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/servers.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "testing/local/quorum.h"
#include "zkrecipes/client.h"

namespace zkrecipes::servers {
namespace {

// Whether member `i` opens a session: a committed write. A healthy one needs milliseconds.
bool Commits(const Servers& servers, int i) {
  return Client::Connect({.servers = servers.server(i)}, {absl::Seconds(10)}).ok();
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

// Unavailable: the members in `failing` do not serve, or commit nothing.
absl::Status Check(const Servers& servers, std::vector<int>& failing) {
  std::vector<std::string> addresses;
  for (int i = 0; i < servers.size(); ++i) addresses.push_back(servers.server(i));
  const testing::QuorumView view = testing::AskModes(addresses);
  failing.clear();
  for (int i = 0; i < servers.size(); ++i) {
    const bool serves = testing::Serves(view.modes[static_cast<size_t>(i)]);
    if (view.AllServe() ? !Commits(servers, i) : !serves) failing.push_back(i);
  }
  if (failing.empty()) return absl::OkStatus();
  const absl::Status status = absl::UnavailableError(
      absl::StrCat("members ", absl::StrJoin(failing, ", "),
                   view.AllServe() ? " say that they serve, and commit nothing" : " do not serve"));
  // Where no member commits, the leader is at fault.
  if (failing.size() == addresses.size() && view.Leader().ok()) failing = {*view.Leader()};
  return status;
}

}  // namespace

absl::Status Servers::FillDisk(int) { return absl::UnimplementedError("cannot fill this disk"); }
absl::Status Servers::FreeDisk(int) { return absl::UnimplementedError("cannot free this disk"); }
absl::Status Servers::SlowDisk(int, absl::Duration) {
  return absl::UnimplementedError("cannot make this disk slow");
}

absl::Status Heal(Servers& servers, absl::Duration timeout) {
  std::vector<int> failing;
  if (servers.WaitForAll(absl::ZeroDuration()).ok() && Check(servers, failing).ok()) {
    return absl::OkStatus();
  }
  for (int again = 2;; --again) {
    absl::Status status = ResumeAndStart(servers);
    if (!status.ok()) return status;
    (void)servers.WaitForAll(timeout / 2);
    status = Check(servers, failing);
    if (status.ok() || again == 0) return status;
    std::fprintf(stderr, "to be healed again: %s\n", status.ToString().c_str());
    for (const int i : failing) status = servers.Kill(i);
    if (!status.ok()) return status;
  }
}

}  // namespace zkrecipes::servers
