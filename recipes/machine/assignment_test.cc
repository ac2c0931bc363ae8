// SPDX-License-Identifier: Apache-2.0

#include "recipes/machine/assignment.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace zkrecipes::recipes::machine {
namespace {

using Owners = std::map<std::string, std::string>;  // of each name: the member's id

std::vector<std::string> Names(int count, int seed = 0) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat("shard-", seed, "-", i));
  return names;
}
std::vector<Sharer> Members(int count) {
  std::vector<Sharer> members;
  for (int i = 0; i < count; ++i) members.push_back({absl::StrCat("worker-", i)});
  return members;
}

Owners OwnersOf(const std::vector<Sharer>& members, const std::vector<std::string>& names) {
  const std::vector<size_t> assigned = Assign(members, names);
  Owners owners;
  for (size_t i = 0; i < names.size(); ++i) {
    owners[names[i]] = assigned[i] == kNobody ? "" : members[assigned[i]].id;
  }
  return owners;
}
std::map<std::string, int> LoadsOf(const std::vector<Sharer>& members, const Owners& owners) {
  std::map<std::string, int> loads;
  for (const Sharer& member : members) loads[member.id] = 0;
  for (const auto& [name, owner] : owners) ++loads[owner];
  return loads;
}

// Each present member has its fair share, rounded down or up; nobody else has anything.
void ExpectBalanced(const std::vector<Sharer>& members, const Owners& owners) {
  int weights = 0;
  for (const Sharer& member : members) weights += member.present ? member.weight : 0;
  const std::map<std::string, int> loads = LoadsOf(members, owners);
  ASSERT_EQ(loads.size(), members.size());
  for (const Sharer& member : members) {
    const int all = static_cast<int>(owners.size()) * (member.present ? member.weight : 0);
    EXPECT_GE(loads.at(member.id), all / weights) << member.id;
    EXPECT_LE(loads.at(member.id), (all + weights - 1) / weights) << member.id;
  }
}

int Moved(const Owners& before, const Owners& after) {
  return static_cast<int>(std::ranges::count_if(
      before, [&](const auto& one) { return after.at(one.first) != one.second; }));
}

// What moves if any one of the members leaves, as a multiple of what that one had.
double MovesOfADeparture(int names, int members, int seeds) {
  int moved = 0;
  int least = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    const std::vector<std::string> all = Names(names, seed);
    const std::vector<Sharer> full = Members(members);
    const Owners before = OwnersOf(full, all);
    for (size_t gone = 0; gone < full.size(); ++gone) {
      std::vector<Sharer> rest = full;
      rest.erase(rest.begin() + static_cast<ptrdiff_t>(gone));
      moved += Moved(before, OwnersOf(rest, all));
      least += LoadsOf(full, before).at(full[gone].id);
    }
  }
  return double(moved) / least;
}

TEST(Assignment, GivesEachMemberItsFairShare) {
  for (int seed = 0; seed < 50; ++seed) {
    for (int members = 1; members <= 20; ++members) {
      ExpectBalanced(Members(members), OwnersOf(Members(members), Names(16, seed)));
    }
  }
  ExpectBalanced(Members(50), OwnersOf(Members(50), Names(1000)));
  ExpectBalanced(Members(47), OwnersOf(Members(47), Names(1000)));
}

TEST(Assignment, GivesByWeight) {
  for (int seed = 0; seed < 50; ++seed) {
    std::vector<Sharer> members = Members(5);
    for (size_t i = 0; i < members.size(); ++i)
      members[i].weight = 1 + (seed * 7 + 13 * int(i)) % 9;
    ExpectBalanced(members, OwnersOf(members, Names(33, seed)));
  }
  std::vector<Sharer> members = Members(3);
  members[1].weight = kMostWeight;
  ExpectBalanced(members, OwnersOf(members, Names(500)));
}

TEST(Assignment, DoesNotDependOnTheOrderOfMembersOrNames) {
  std::vector<Sharer> members = Members(7);
  members[2].weight = 3;
  members[4].present = false;
  std::vector<std::string> names = Names(40);
  const Owners owners = OwnersOf(members, names);
  std::ranges::reverse(members);
  std::ranges::reverse(names);
  EXPECT_EQ(OwnersOf(members, names), owners);
}

// Another result is another format: see kAssignmentVersion.
TEST(Assignment, IsAFormat) {
  const std::vector<Sharer> members = {{"a", 1}, {"b", 2}, {"c", 1}};
  const std::vector<std::string> names = {"0", "1", "2", "3", "4", "5", "6", "7"};
  std::string text;
  for (const size_t member : Assign(members, names)) absl::StrAppend(&text, members[member].id);
  EXPECT_EQ(text, "caacbbbb");
}

TEST(Assignment, OfNobodyIsNobodys) {
  EXPECT_EQ(Assign({}, {"a"}), std::vector<size_t>{kNobody});
  EXPECT_EQ(Assign({{"m", 1, false}}, {"a"}), std::vector<size_t>{kNobody});
  EXPECT_TRUE(Assign(Members(3), {}).empty());
}

// The least is 1: what the one had that has gone. The ADR says why it cannot be that.
TEST(Assignment, MovesLittleWhenAMemberGoes) {
  EXPECT_LT(MovesOfADeparture(16, 4, 50), 1.4);
  EXPECT_LT(MovesOfADeparture(100, 10, 10), 1.8);
  EXPECT_LT(MovesOfADeparture(1000, 50, 1), 3.0);
}

TEST(Assignment, OfMembersThatAreAwayMovesOnlyTheirs) {
  for (int seed = 0; seed < 20; ++seed) {
    const std::vector<std::string> names = Names(100, seed);
    std::vector<Sharer> members = Members(9);
    const Owners before = OwnersOf(members, names);
    for (const size_t away : {size_t(seed) % 9, size_t(seed * 4 + 1) % 9}) {
      members[away].present = false;
      const Owners now = OwnersOf(members, names);
      ExpectBalanced(members, now);
      for (const auto& [name, owner] : before) {
        const bool present = std::ranges::find(members, owner, &Sharer::id)->present;
        EXPECT_TRUE(!present || now.at(name) == owner) << name;
      }
    }
  }
}

TEST(Assignment, OfWeightsWithMembersAwayStaysBalanced) {
  for (int seed = 0; seed < 100; ++seed) {
    std::vector<Sharer> members = Members(6);
    for (size_t i = 0; i < members.size(); ++i) {
      members[i].weight = 1 + (seed * 5 + 11 * int(i)) % 7;
      members[i].present = i == 0 || (seed >> i) % 2 == 0;
    }
    ExpectBalanced(members, OwnersOf(members, Names(29, seed)));
  }
}

TEST(Assignment, MovesEachNameAtMostTwiceWhileAllMembersRestart) {
  const std::vector<std::string> names = Names(1000);
  std::vector<Sharer> members = Members(50);
  Owners owners = OwnersOf(members, names);
  std::map<std::string, int> moves;
  const auto see = [&] {
    Owners next = OwnersOf(members, names);
    for (const auto& [name, owner] : owners) moves[name] += next.at(name) != owner ? 1 : 0;
    owners = std::move(next);
  };
  for (Sharer& member : members) {
    member.present = false;
    see();
    member.present = true;
    see();
  }
  EXPECT_LE(std::ranges::max_element(moves, {}, [](const auto& m) { return m.second; })->second, 2);
}

}  // namespace
}  // namespace zkrecipes::recipes::machine
