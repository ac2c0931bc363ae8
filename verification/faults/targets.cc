// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/targets.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

namespace zkrecipes::faults::whom {
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

std::vector<int> FirstNumbers(int count) {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// As ZooKeeper counts.
std::string MemberName(int i) { return absl::StrCat("server ", i + 1); }

// `count` members beginning with number `first` of the list in which the leader is first and the
// others follow in a random order.
absl::StatusOr<Targets> ByPart(Scene& scene, size_t first, size_t count) {
  const absl::StatusOr<int> leader = AwaitLeader(scene.servers);
  if (!leader.ok()) return leader.status();
  std::vector<int> members = FirstNumbers(scene.servers.size());
  std::swap(members[0], members[static_cast<size_t>(*leader)]);
  std::shuffle(members.begin() + 1, members.end(), scene.random);
  const auto begin = members.begin() + static_cast<std::ptrdiff_t>(first);
  const std::vector<int> chosen(begin, begin + static_cast<std::ptrdiff_t>(count));
  const auto number = [](std::string* out, int i) { absl::StrAppend(out, i + 1); };
  if (count == 1) return Targets{MemberName(chosen[0]), chosen};
  return Targets{"servers " + absl::StrJoin(chosen, " and ", number), chosen};
}

}  // namespace

absl::StatusOr<Targets> Leader(Scene& scene) {
  absl::StatusOr<Targets> leader = ByPart(scene, 0, 1);
  if (leader.ok()) leader->name += ", the leader";
  return leader;
}

absl::StatusOr<Targets> Follower(Scene& scene) { return ByPart(scene, 1, 1); }
absl::StatusOr<Targets> LeaderAndFollower(Scene& scene) { return ByPart(scene, 0, 2); }

absl::StatusOr<Targets> Majority(Scene& scene) {
  return ByPart(scene, 0, static_cast<size_t>(scene.servers.size()) / 2 + 1);
}

absl::StatusOr<Targets> LeaderFirst(Scene& scene) {
  absl::StatusOr<Targets> all = ByPart(scene, 0, static_cast<size_t>(scene.servers.size()));
  if (all.ok()) all->name = "all servers";
  return all;
}

absl::StatusOr<Targets> AnyMember(Scene& scene) {
  const int i = absl::Uniform(scene.random, 0, scene.servers.size());
  return Targets{MemberName(i), {i}};
}

absl::StatusOr<Targets> AllMembers(Scene& scene) {
  return Targets{"all servers", FirstNumbers(scene.servers.size())};
}

absl::StatusOr<Targets> AnyClient(Scene& scene) {
  const int i = absl::Uniform(scene.random, 0, scene.clients.size());
  return Targets{absl::StrCat("client ", i), {i}, /*clients=*/true};
}

absl::StatusOr<Targets> AllClients(Scene& scene) {
  return Targets{"all clients", FirstNumbers(scene.clients.size()), /*clients=*/true};
}

}  // namespace zkrecipes::faults::whom
