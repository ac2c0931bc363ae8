// SPDX-License-Identifier: Apache-2.0

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/facts_fixture.h"

namespace zkrecipes::zkr::doctor {
namespace {

// As a server's Stat shows it: twice the creations, less the children, in 32 bits.
zk::Stat After(std::int64_t created, int children) {
  return {.cversion = static_cast<std::int32_t>(static_cast<std::uint32_t>(2 * created - children)),
          .num_children = children};
}

void OwnedBy(Facts& facts, const std::string& host, std::int64_t pid, char state) {
  facts.contenders[0].owner = {"", host, pid};
  facts.machine = {"db7", {{4711, {"java", state}}}};
}

// Of the guid of kFirst.
constexpr char kTwin[] = "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000008";

TEST(JudgeQueue, FindsWhatIsWrongWithAQueue) {
  Try({
      {"no path",
       [](Facts& f) {
         f.path = PathFacts{.path = "/q"};
         f.contenders.clear();
       },
       {}},
      {"a contender that no session owns",
       [](Facts& f) { f.contenders[0].session = 0; },
       {"orphan-persistent /q"}},
      {"a contender that cannot be read",
       [](Facts& f) { f.contenders[0] = {.holds = true, .node = kFirst}; },
       {}},
      {"two nodes of one contender",
       [](Facts& f) { f.contenders[1] = Contending(1, kTwin, 7); },
       {"orphan-twin /q"}},
      {"one guid in two sessions is no twin",
       [](Facts& f) { f.contenders[1] = Contending(1, kTwin, 8); },
       {}},
      {"a process of this machine", [](Facts& f) { OwnedBy(f, "db7", 4711, 'S'); }, {}},
      {"a holder that is stopped",
       [](Facts& f) { OwnedBy(f, "db7", 4711, 'T'); },
       {"holder-stopped /q"}},
      {"a waiter that is stopped",
       [](Facts& f) {
         OwnedBy(f, "db7", 4711, 'T');
         f.contenders[0].holds = false;
       },
       {}},
      {"no process of this machine",
       [](Facts& f) { OwnedBy(f, "db7", 4712, 'S'); },
       {"orphan-process /q"}},
      {"a process of another machine", [](Facts& f) { OwnedBy(f, "db8", 4711, 'T'); }, {}},
      {"a contender whose owner is not known", [](Facts& f) { OwnedBy(f, "", 0, 'T'); }, {}},
      {"numbers that run out",
       [](Facts& f) { f.path->stat = After(2'000'000'000, 2); },
       {"numbers-running-out /q"}},
      {"numbers that are used up",
       [](Facts& f) { f.path->stat = After(2'147'000'000, 2); },
       {"numbers-used-up /q"}},
      {"half of the numbers", [](Facts& f) { f.path->stat = After(1 << 30, 2); }, {}},
      {"a node whose numbers may not be read", [](Facts& f) { f.path->stat.reset(); }, {}},
  });
}

TEST(Numbers, AreThoseOfAllThatWasEverCreated) {
  for (const std::int64_t created : {0L, 1L, 7L, (1L << 30) - 1, 1L << 30, (1L << 31) - 1}) {
    for (const int children : {0, 1, 2, 1000}) {
      EXPECT_EQ(commands::NumbersOf(After(created, children)).used, created) << children;
    }
  }
}

TEST(Numbers, RunOutBeforeTheyAreUsedUp) {
  using enum commands::Numbers::State;
  EXPECT_EQ(commands::Numbers{0}.Judge(), kPlenty);
  EXPECT_EQ(commands::Numbers{1'900'000'000}.Judge(), kPlenty);
  EXPECT_EQ(commands::Numbers{1'950'000'000}.Judge(), kRunningOut);
  EXPECT_EQ(commands::Numbers{commands::Numbers::kAll - (1 << 20)}.Judge(), kUsedUp);
  EXPECT_EQ(commands::Numbers{commands::Numbers::kAll - 1}.Judge(), kUsedUp);
}

const Acl kOpen = {{31, "world", "anyone"}};
const Acl kClosed = {{31, "digest", "me:hash"}};
const Acl kReadable = {{31, "digest", "me:hash"}, {1, "world", "anyone"}};

void AddParent(Facts& facts, PathFacts::Kind kind, const Acl& acl, const Acl& record) {
  facts.parents = {{.kind = kind, .path = "/p", .exists = true, .acl = acl}};
  if (kind == PathFacts::Kind::kEpochParent) facts.parents[0].children = {{"/p/epoch", record}};
}

TEST(JudgeAcls, FindsWhatIsWrongWithAcls) {
  using enum PathFacts::Kind;
  Try({
      {"an open parent of closed contenders",
       [](Facts& f) { f.path->children[kFirst] = kClosed; },
       {"acl-open-parent /q"}},
      {"an open parent of unreadable contenders",
       [](Facts& f) { f.path->children[kFirst].reset(); },
       {"acl-open-parent /q"}},
      {"a parent in which strangers may only create",
       [](Facts& f) {
         f.users = {"me"};
         f.path->acl = {{5, "world", "anyone"}, {31, "digest", "me:hash"}};
         f.path->children[kFirst] = kClosed;
       },
       {}},
      {"all closed, and ours",
       [](Facts& f) {
         f.users = {"other", "me"};
         f.path->acl = f.path->children[kFirst] = f.path->children[kSecond] = kClosed;
       },
       {}},
      {"a closed parent of open contenders, as zkr makes them",
       [](Facts& f) {
         f.users = {"me"};
         f.path->acl = kClosed;
       },
       {}},
      {"not ours",
       [](Facts& f) {
         f.users = {"you"};
         f.path->acl = kReadable;
       },
       {"acl-lacks /q"}},
      {"perhaps ours",
       [](Facts& f) {
         f.path->acl = {{31, "ip", "10.0.0.0/8"}, {1, "world", "anyone"}};
       },
       {}},
      {"not to be read",
       [](Facts& f) {
         f.path->listed = false;
         f.path->acl.reset();
       },
       {"acl-lacks /q"}},
      {"a place for a path where this client may create",
       [](Facts& f) {
         AddParent(f, kAncestor, {{4, "world", "anyone"}}, {});
       },
       {}},
      {"a place for a path where it may not",
       [](Facts& f) {
         AddParent(f, kAncestor, {{1, "world", "anyone"}}, {});
       },
       {"acl-lacks /p"}},
      {"an epoch that is open, as by default",
       [](Facts& f) { AddParent(f, kEpochParent, kOpen, kOpen); },
       {}},
      {"an epoch that its users alone may write",
       [](Facts& f) { AddParent(f, kEpochParent, kReadable, kReadable); },
       {}},
      {"an epoch that everyone may delete, though it is closed",
       [](Facts& f) { AddParent(f, kEpochParent, kOpen, kReadable); },
       {"acl-open-parent /p"}},
      {"an epoch that not everyone may read",
       [](Facts& f) { AddParent(f, kEpochParent, kReadable, kClosed); },
       {"epoch-closed /p/epoch"}},
  });
}

TEST(MayContend, IsUnknownWhereOnlyServersCanJudge) {
  Facts facts = Healthy();
  EXPECT_EQ(MayContend(facts, *facts.path), true);
  facts.path->acl = {{31, "ip", "10.0.0.0/8"}};
  EXPECT_EQ(MayContend(facts, *facts.path), std::nullopt);
  facts.path->acl = kReadable;
  EXPECT_EQ(MayContend(facts, *facts.path), false);
  facts.path->acl.reset();
  EXPECT_EQ(MayContend(facts, *facts.path), std::nullopt);
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
