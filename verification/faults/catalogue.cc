// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/catalogue.h"

#include <algorithm>
#include <utility>

#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include "verification/faults/kinds.h"

namespace zkrecipes::faults {
namespace {

constexpr absl::Duration kElection = absl::Seconds(60);

absl::StatusOr<int> AwaitLeader(Servers& servers) {
  const absl::Time deadline = absl::Now() + kElection;
  absl::StatusOr<int> leader = servers.Leader();
  while (absl::IsNotFound(leader.status()) && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(50));
    leader = servers.Leader();
  }
  if (!absl::IsNotFound(leader.status())) return leader;
  return absl::DeadlineExceededError(leader.status().message());
}

}  // namespace

const std::vector<Fault>& Catalogue() {
  static const auto& all = *new std::vector<Fault>([] {
    std::vector<Fault> faults;
    for (auto* part :
         {ServerFaults, MemberNetworkFaults, ClientNetworkFaults, DiskFaults, ClientFaults}) {
      for (Fault& fault : part()) faults.push_back(std::move(fault));
    }
    return faults;
  }());
  return all;
}

absl::StatusOr<Ongoing> Begun(std::string target, const absl::Status& begun,
                              absl::AnyInvocable<absl::Status() &&> end) {
  if (begun.ok()) return Ongoing{std::move(target), std::move(end)};
  std::move(end)().IgnoreError();
  return begun;
}

absl::StatusOr<std::vector<int>> LeaderAndFollowers(Scene& scene) {
  const absl::StatusOr<int> leader = AwaitLeader(scene.servers);
  if (!leader.ok()) return leader.status();
  std::vector<int> members;
  for (int i = 0; i < scene.servers.size(); ++i) members.push_back(i);
  std::swap(members[0], members[static_cast<size_t>(*leader)]);
  std::shuffle(members.begin() + 1, members.end(), scene.random);
  return members;
}

int AnyMember(Scene& scene) { return absl::Uniform(scene.random, 0, scene.servers.size()); }
int AnyClient(Scene& scene) { return absl::Uniform(scene.random, 0, scene.clients.size()); }

std::vector<Host> MemberHosts(const Scene& scene) {
  std::vector<Host> hosts;
  for (int i = 0; i < scene.servers.size(); ++i) hosts.push_back(scene.servers.host(i));
  return hosts;
}

// The servers expire a session up to a tick late, and slow ones are later.
absl::Duration UntilExpired(const Scene& scene) { return scene.clients.session_timeout() * 1.5; }

std::string MemberName(int i) { return absl::StrCat("server ", i + 1); }
std::string LeaderName(int i) { return absl::StrCat("server ", i + 1, ", the leader"); }
std::string ClientName(int i) { return absl::StrCat("client ", i); }

std::string Names(const std::vector<int>& members) {
  return absl::StrCat("servers ", absl::StrJoin(members, " and ", [](std::string* out, int i) {
                        absl::StrAppend(out, i + 1);
                      }));
}

}  // namespace zkrecipes::faults
