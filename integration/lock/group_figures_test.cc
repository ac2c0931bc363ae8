// SPDX-License-Identifier: Apache-2.0
//
// Counts the requests of members and watchers on a real server: the tables of docs/group.md.

#include <algorithm>
#include <cstdint>
#include <future>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "integration/lock/figures_fixture.h"
#include "lib/base/mutex.h"
#include "zkrecipes/group.h"

namespace zkrecipes::integration {
namespace {

// What one watcher was told. Thread-safe.
class Views {
 public:
  explicit Views(const Group& group)
      : subscription_(group.Watch([told = told_](const absl::StatusOr<GroupView>& view) {
          base::MutexLock lock(told->mutex);
          ++told->views;
          told->last = view.ok() ? view->members.size() : 0;
          if (!view.ok()) return;
          for (const Member& member : view->members) told->seen.insert(member.token);
        })) {}

  bool Await(size_t members) const {
    return Eventually([&] {
      base::MutexLock lock(told_->mutex);
      return told_->last == members;
    });
  }
  // Of all members that it has ever seen: for each it has read the data once.
  int64_t seen() const {
    base::MutexLock lock(told_->mutex);
    return static_cast<int64_t>(told_->seen.size());
  }
  int64_t views() const {
    base::MutexLock lock(told_->mutex);
    return told_->views;
  }
  void End() { subscription_ = Subscription(); }

 private:
  struct Told {
    base::Mutex mutex;
    int64_t views ABSL_GUARDED_BY(mutex) = 0;
    size_t last ABSL_GUARDED_BY(mutex) = 0;
    std::set<FencingToken> seen ABSL_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Told> told_ = std::make_shared<Told>();
  Subscription subscription_;
};

class GroupFiguresTest : public FiguresTest {
 protected:
  Group Of(const std::shared_ptr<Client>& client) { return {client, node_path()}; }
  // All at once.
  std::vector<std::optional<Membership>> Joined(size_t count) {
    std::vector<std::future<absl::StatusOr<Membership>>> answers;
    for (size_t i = 0; i < count; ++i) {
      auto answer = std::make_shared<std::promise<absl::StatusOr<Membership>>>();
      answers.push_back(answer->get_future());
      Of(crowd_).JoinAsync({.id = absl::StrCat("member-", i), .data = "10.0.0.3:8080"}, {kSoon},
                           [answer](auto joined) { answer->set_value(std::move(joined)); });
    }
    std::vector<std::optional<Membership>> members;
    for (auto& answer : answers) members.emplace_back(*answer.get());
    return members;
  }
  void Restart(std::optional<Membership>& member, const Group& group) {
    const std::string id = member->id();
    EXPECT_EQ(std::move(*member).Leave({kSoon}), absl::OkStatus());
    member = *group.Join({.id = id}, {kSoon});
  }

  const std::shared_ptr<Client> crowd_ = NewQuietClient();
};

TEST_F(GroupFiguresTest, AJoinTakesOneRequestAndALeaveOne) {
  const auto first = Joined(1);  // makes the path
  const auto client = NewQuietClient();
  SettledPackets();
  std::optional<Membership> member;
  EXPECT_EQ(PacketsOf([&] { member = *Of(client).Join({.id = "a"}, {kSoon}); }), 1);
  EXPECT_EQ(PacketsOf([&] { EXPECT_TRUE(std::move(*member).Leave({kSoon}).ok()); }), 1);
  EXPECT_EQ(PacketsOf([&] { EXPECT_EQ(Of(client).Members({kSoon})->members.size(), 1u); }), 2);
}

TEST_F(GroupFiguresTest, AWatcherTakesOneRequestForAChangeAndOneForEachNewcomer) {
  for (const size_t count : {10, 100, 1000}) {
    auto members = Joined(count);
    const auto watching = NewQuietClient();
    SettledPackets();
    std::optional<Views> views;
    const absl::Time began = absl::Now();
    EXPECT_EQ(PacketsOf([&] {
                views.emplace(Of(watching));
                EXPECT_TRUE(views->Await(count));
                std::cout << count << " members: the first view after " << absl::Now() - began
                          << "\n";
              }),
              1 + static_cast<int64_t>(count));
    // Until it is calm: twice the longest pause, and what the looks take.
    absl::SleepFor(absl::Milliseconds(std::min<size_t>(8000, 40 * count) + 400));
    const int64_t seen = views->seen();
    const auto sees_it = [&] { return views->seen() == seen + 1 && views->Await(count); };
    const int64_t restart = PacketsOf([&] {
      Restart(members[0], Of(crowd_));
      EXPECT_TRUE(Eventually(sees_it));
    });
    // Both changes in one look, or each in one of its own.
    EXPECT_THAT(restart, ::testing::AllOf(::testing::Ge(2 + 1 + 1), ::testing::Le(2 + 2 + 1)));
    EXPECT_EQ(PacketsOf([&] { views->End(); }), 1);
    members.clear();
    SettledPackets();
  }
}

// As fast as it can.
TEST_F(GroupFiguresTest, ARestartOfAHundredMembersIsSeenInFewLooks) {
  auto members = Joined(100);
  const auto watching = NewQuietClient();
  Views views(Of(watching));
  ASSERT_TRUE(views.Await(members.size()));
  const int64_t seen = views.seen();
  const auto sees_all = [&] { return views.seen() == seen + 100; };
  const absl::Time began = absl::Now();
  const int64_t packets = PacketsOf([&] {
    for (auto& member : members) Restart(member, Of(crowd_));
    EXPECT_TRUE(Eventually(sees_all));
    EXPECT_TRUE(views.Await(members.size()));
  });
  const absl::Duration lasted = absl::Now() - began;
  const int64_t looks = packets - 2 * 100 - 100;
  std::cout << "100 members restarted within " << lasted << ": " << looks << " looks\n";
  // One after 50, 100, 200, 400, 800 and 1,600 ms, and then one in each second or more.
  EXPECT_LE(looks, 8 + absl::ToInt64Seconds(lasted));
}

// Nightly: all watch, and one restarts in each second.
class GroupRestartTest : public GroupFiguresTest {};

TEST_F(GroupRestartTest, OfAHundredMembersThatAllWatchIsLookedAtLessThanTenThousandTimes) {
  constexpr size_t kMembers = 100;
  std::vector<std::shared_ptr<Client>> clients;
  std::vector<std::optional<Membership>> members;
  std::vector<std::unique_ptr<Views>> views;
  for (size_t i = 0; i < kMembers; ++i) {
    clients.push_back(NewQuietClient());
    members.emplace_back(*Of(clients[i]).Join({.id = absl::StrCat(i)}, {kSoon}));
    views.push_back(std::make_unique<Views>(Of(clients[i])));
  }
  for (const auto& each : views) ASSERT_TRUE(each->Await(kMembers));
  absl::SleepFor(absl::Seconds(4));
  const auto sum = [&](int64_t (Views::*count)() const) {
    int64_t total = 0;
    for (const auto& each : views) total += (*each.*count)();
    return total;
  };
  const int64_t seen = sum(&Views::seen);
  const int64_t told = sum(&Views::views);
  const int64_t packets = PacketsOf([&] {
    for (size_t i = 0; i < kMembers; ++i) {
      const absl::Time began = absl::Now();
      Restart(members[i], Of(clients[i]));
      absl::SleepFor(began + absl::Seconds(1) - absl::Now());
    }
    for (const auto& each : views) EXPECT_TRUE(each->Await(kMembers));
    absl::SleepFor(absl::Seconds(4));
  });
  const int64_t gets = sum(&Views::seen) - seen;
  const int64_t looks = packets - 2 * static_cast<int64_t>(kMembers) - gets;
  std::cout << looks << " looks and " << gets << " gets in all, " << sum(&Views::views) - told
            << " views\n";
  EXPECT_LE(looks, 9000);
  EXPECT_GE(gets, static_cast<int64_t>(kMembers * (kMembers - 1)));
}

}  // namespace
}  // namespace zkrecipes::integration
