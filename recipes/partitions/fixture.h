// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_FIXTURE_H_
#define ZKRECIPES_RECIPES_PARTITIONS_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "recipes/lock_fixture.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::testing::memory {

inline constexpr char kAt[] = "/shards";
inline constexpr int kCount = 8;

// A process that is a member.
struct MemberUser : LockUser {
  std::optional<Partitions::Running> running;
  std::map<std::string, OwnedPartition> owned;
  PartitionsReport report;
  int gained = 0;
  bool ends_at_once = true;    // work that is asked to end does
  std::function<void()> slow;  // what happens while it is told of the next partition

  void Begin(std::vector<std::string> names, PartitionsOptions options) {
    auto started = Partitions(client, kAt, std::move(names), std::move(options))
                       .Start({.on_gained =
                                   [this](OwnedPartition partition) {
                                     if (slow) std::exchange(slow, nullptr)();
                                     ++gained;
                                     const std::string name = partition.name();
                                     EXPECT_TRUE(owned.emplace(name, std::move(partition)).second);
                                   },
                               .on_change = [this](const PartitionsReport& r) { report = r; }});
    ASSERT_TRUE(started.ok()) << started.status();
    running.emplace(*std::move(started));
  }
  std::set<std::string> believed() const {
    std::set<std::string> names;
    for (const auto& [name, partition] : owned) {
      if (partition.lease().believed()) names.insert(name);
    }
    return names;
  }
  size_t asked(PartitionEnd why) const {
    return static_cast<size_t>(std::ranges::count_if(
        owned, [why](const auto& o) { return o.second.end_reason() == why; }));
  }
  // Returns whether any work has ended.
  bool EndWhatIsAsked() {
    return std::erase_if(owned, [](const auto& o) { return o.second.end().stop_requested(); }) > 0;
  }
};

class PartitionsTest : public LockInMemoryTest {
 protected:
  // A member lives until its locks are gone, or its session is: both need the ensemble.
  ~PartitionsTest() override {
    for (const auto& member : members_) {
      member->owned.clear();
      member->running.reset();
      member->host->set_network(Host::Network::kUp);
    }
    PassTime(absl::Minutes(1));
  }
  static std::vector<std::string> Names(int count = kCount) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(absl::StrCat("s", i));
    return names;
  }
  MemberUser& Start(const std::string& id, PartitionsOptions options = {},
                    std::vector<std::string> names = Names()) {
    members_.push_back(std::make_unique<MemberUser>());
    MemberUser& member = *members_.back();
    memory::Start(simulation_, member);
    options.id = id;
    member.Begin(std::move(names), std::move(options));
    return member;
  }
  void Check() {
    std::set<std::string> all;
    for (const auto& member : members_) {
      for (const std::string& name : member->believed()) {
        EXPECT_TRUE(all.insert(name).second) << name << " has two owners";
      }
    }
    believed_ = all.size();
  }
  void Step(absl::Duration time) {
    const base::BootTime until = simulation_.now() + time;
    do {
      simulation_.RunUntil(std::min(until, simulation_.now() + absl::Milliseconds(20)));
      Check();
      for (const auto& member : members_) {
        if (member->ends_at_once && member->EndWhatIsAsked()) simulation_.RunUntilIdle();
      }
      Check();
    } while (simulation_.now() < until);
  }
  // Each of these has its share, and nobody waits.
  void ExpectBalanced(const std::vector<MemberUser*>& members, size_t names = kCount) {
    EXPECT_EQ(believed_, names);
    for (const MemberUser* member : members) {
      EXPECT_GE(member->believed().size(), names / members.size());
      EXPECT_LE(member->believed().size(), (names + members.size() - 1) / members.size());
      EXPECT_EQ(member->report.waited_for, 0);
      EXPECT_EQ(member->report.members, static_cast<int>(members.size()));
    }
  }
  std::vector<std::string> Below(const std::string& path) {
    return model().committed().Children(path);
  }

  std::vector<std::unique_ptr<MemberUser>> members_;
  size_t believed_ = 0;  // by any
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_PARTITIONS_FIXTURE_H_
