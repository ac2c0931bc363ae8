// SPDX-License-Identifier: Apache-2.0
//
// Watchers of a group, on the ensemble in memory.

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "recipes/group_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(GroupTest, AWatcherWithoutAPathIsToldOfNoneAndThenOfTheFirst) {
  const auto watcher = StartWatcher();
  EXPECT_THAT(watcher->seen(), IsEmpty());
  EXPECT_EQ(model().watches(), 1u);
  const auto a = StartMember("a");
  Look();
  EXPECT_THAT(watcher->seen(), ElementsAre("a"));
}

TEST_F(GroupTest, OthersOnThePathAreNoMembers) {
  const auto watcher = StartWatcher();
  LockUser locker;
  memory::Start(simulation_, locker);
  Acquire(locker);
  EXPECT_TRUE(locker.holds());
  // The second is as a tool writes it that copies a tree.
  for (const std::string stranger : {"/config", "/_c_000000000000000-member-0000000007"}) {
    ASSERT_TRUE(model().OperatorCreates(absl::StrCat(kPath, stranger), {}, simulation_.now()));
  }
  const auto a = StartMember("a");
  PassTime(absl::Seconds(1));
  EXPECT_THAT(watcher->seen(), ElementsAre("a"));
  EXPECT_TRUE(locker.holds());
}

TEST_F(GroupTest, AWatcherThatIsCutOffIsToldSoAndThenOfTheChanges) {
  const auto watcher = StartWatcher();
  const auto a = StartMember("a");
  Look();
  watcher->host->set_network(Host::Network::kDown);
  PassTime(absl::Milliseconds(1));
  ASSERT_FALSE(watcher->told.back()->connected);
  EXPECT_THAT(Ids(*watcher->told.back()), ElementsAre("a"));
  const size_t told = watcher->told.size();
  const auto b = StartMember("b");
  PassTime(absl::Seconds(20));  // its session expires
  EXPECT_EQ(watcher->told.size(), told);
  watcher->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(5));
  EXPECT_THAT(watcher->seen(), ElementsAre("a", "b"));
  EXPECT_EQ(watcher->told.size(), told + 1);
}

TEST_F(GroupTest, ABadPathIsToldAtOnce) {
  const auto user = Start();
  std::vector<absl::StatusCode> told;
  const Subscription watch = Group(user->client, "/a//b").Watch([&told](const auto& view) {
    told.push_back(view.status().code());
  });
  simulation_.RunUntilIdle();
  EXPECT_THAT(told, ElementsAre(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(Group(user->client, "/a//b").Members().status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(GroupTest, ChangesThatComeTogetherAreToldTogether) {
  const auto watcher = StartWatcher();
  const auto crowd = Start();
  PassTime(absl::Minutes(1));
  std::vector<Membership> members;
  for (int i = 0; i < 300; ++i) {
    crowd->group().JoinAsync(
        {.id = absl::StrCat(i)}, {},
        [&members](absl::StatusOr<Membership> got) { members.push_back(*std::move(got)); });
  }
  PassTime(absl::Minutes(1));
  EXPECT_EQ(watcher->seen().size(), 300u);
  EXPECT_LE(watcher->told.size(), 3u);
  const size_t told = watcher->told.size();
  members.clear();
  PassTime(absl::Minutes(1));
  EXPECT_THAT(watcher->seen(), IsEmpty());
  EXPECT_LE(watcher->told.size(), told + 2);
}

// One member restarts in each second: it leaves, and is back after a tenth of it. Each change on
// its own would be two looks a second.
TEST_F(GroupTest, ARollingRestartIsLookedAtLessOftenTheMoreMembersThereAre) {
  for (const auto& [count, most] : {std::pair<size_t, size_t>{10, 21}, {100, 85}, {1000, 400}}) {
    const auto watcher = StartWatcher();
    const auto crowd = Start();
    std::vector<std::optional<Membership>> members(count);
    const auto join = [&](size_t i) {
      crowd->group().JoinAsync(
          {.id = absl::StrCat(i)}, {},
          [&members, i](absl::StatusOr<Membership> got) { members[i] = *std::move(got); });
    };
    for (size_t i = 0; i < count; ++i) join(i);
    PassTime(absl::Minutes(1));
    ASSERT_EQ(watcher->seen().size(), count);
    const size_t told = watcher->told.size();
    for (size_t i = 0; i < count; ++i) {
      members[i].reset();
      PassTime(absl::Milliseconds(100));
      join(i);
      PassTime(absl::Milliseconds(900));
    }
    PassTime(absl::Seconds(5));
    EXPECT_EQ(watcher->seen().size(), count);
    const size_t views = watcher->told.size() - told;
    EXPECT_LE(views, most);
    EXPECT_GE(views, most / 4);  // a view lags four seconds at most
    RecordProperty(absl::StrCat("views_of_", count), static_cast<int>(views));
    members.clear();
    PassTime(absl::Seconds(1));
  }
}

}  // namespace
}  // namespace zkrecipes::testing::memory
