// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_GROUP_FIXTURE_H_
#define ZKRECIPES_RECIPES_GROUP_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "recipes/every_step_fixture.h"
#include "zkrecipes/group.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing::memory {

inline std::vector<std::string> Ids(const GroupView& view) {
  std::vector<std::string> ids;
  for (const Member& member : view.members) ids.push_back(member.id);
  return ids;
}

// A process with a client, at most one membership and at most one watcher.
struct GroupUser : LockUser {
  std::optional<absl::StatusOr<Membership>> joined;
  std::vector<absl::StatusOr<GroupView>> told;
  std::optional<Subscription> watch;

  Group group() { return Group(client, kPath, lock_options); }
  void Join(MemberOptions member = {.id = "a"}, WaitOptions wait = {}) {
    group().JoinAsync(std::move(member), std::move(wait), [this](absl::StatusOr<Membership> got) {
      ++answers;
      joined.emplace(std::move(got));
    });
  }
  void Watch() {
    watch.emplace(group().Watch([this](absl::StatusOr<GroupView> view) {
      // None is told twice in a row.
      if (view.ok() && !told.empty() && told.back().ok()) {
        EXPECT_FALSE(told.back()->members == view->members &&
                     told.back()->connected == view->connected);
      }
      told.push_back(std::move(view));
    }));
  }
  Membership& membership() { return **joined; }
  Membership::State state() { return membership().state(); }
  bool believes() const { return joined && joined->ok() && (*joined)->believed(); }
  absl::StatusCode code() const { return joined->status().code(); }
  // Of the last view; it has to be one of a client that is connected.
  std::vector<std::string> seen() const {
    if (told.empty() || !told.back().ok() || !told.back()->connected) return {"(none)"};
    return Ids(*told.back());
  }
};

class GroupTest : public EveryStepTest {
 protected:
  std::unique_ptr<GroupUser> Start(ClientOptions options = {}) {
    auto user = std::make_unique<GroupUser>();
    memory::Start(simulation_, *user, std::move(options));
    return user;
  }
  std::unique_ptr<GroupUser> StartMember(const std::string& id, const std::string& data = "") {
    auto user = Start();
    Join(*user, {.id = id, .data = data});
    return user;
  }
  std::unique_ptr<GroupUser> StartWatcher() {
    auto user = Start();
    user->Watch();
    simulation_.RunUntilIdle();
    return user;
  }
  void Join(GroupUser& user, MemberOptions member = {.id = "a"}) {
    user.Join(std::move(member));
    simulation_.RunUntilIdle();
    ASSERT_TRUE(user.joined.has_value());
  }
  // As an operator; how many there were.
  int DeleteNodes() {
    int deleted = 0;
    for (const std::string& node : Queue()) {
      deleted += model().OperatorDeletes(absl::StrCat(kPath, "/", node), simulation_.now()) ? 1 : 0;
    }
    return deleted;
  }
  int DeleteNodesFor(absl::Duration period) {
    int deleted = 0;
    for (const auto end = simulation_.now() + period; simulation_.now() < end;) {
      PassTime(absl::Milliseconds(10));
      deleted += DeleteNodes();
    }
    return deleted;
  }
  // Long enough for a watcher to see it, after a calm.
  void Look() { PassTime(absl::Milliseconds(300)); }
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_GROUP_FIXTURE_H_
