// SPDX-License-Identifier: Apache-2.0

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/facts_fixture.h"
#include "tools/zkr/doctor/finding.h"

namespace zkrecipes::zkr::doctor {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* what;
  std::function<void(Facts&, PathFacts&)> change;
  std::vector<std::string> found;
};

void Try(const std::vector<Case>& cases, Findings (*judge)(const Facts&, const PathFacts&)) {
  for (const Case& c : cases) {
    Facts facts = Healthy();
    PathFacts path = HealthyQueue();
    c.change(facts, path);
    EXPECT_EQ(Summary(judge(facts, path)), c.found) << c.what;
  }
}

ContenderInfo OwnedBy(const std::string& host, std::int64_t pid) {
  ContenderInfo c{.node = kFirst};
  c.owner = {"", host, pid};
  return c;
}

TEST(JudgeQueue, FindsWhatIsWrongWithAQueue) {
  Try(
      {
          {"nothing", [](Facts&, PathFacts&) {}, {}},
          {"no path", [](Facts&, PathFacts& p) { p = {.path = "/q"}; }, {"path-missing /q"}},
          {"a path that can have no children",
           [](Facts&, PathFacts& p) { p.node.stat->ephemeral_owner = 7; },
           {"!path-ephemeral /q"}},
          {"a stranger", [](Facts&, PathFacts& p) { p.others = {"x"}; }, {"!foreign-children /q"}},
          {"the record of lock-delay mode",
           [](Facts&, PathFacts& p) { p.others = {"zkrecipes-holder"}; },
           {"lock-delay-record /q"}},
          {"a contender that no session owns",
           [](Facts&, PathFacts& p) { p.queue[0].stat->ephemeral_owner = 0; },
           {"!orphan-persistent /q"}},
          {"two nodes of one contender",
           [](Facts&, PathFacts& p) {
             p.queue[1] = Contender("_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000008");
           },
           {"!orphan-twin /q"}},
          {"one guid in two sessions is no twin",
           [](Facts&, PathFacts& p) {
             p.queue[1] = Contender("_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000008", 8);
           },
           {}},
          {"two dialects",
           [](Facts&, PathFacts& p) { p.queue.push_back(Contender(kKazoos)); },
           {"!dialects-mixed /q"}},
          {"the other dialect",
           [](Facts&, PathFacts& p) { p.queue = {Contender(kKazoos)}; },
           {"other-dialect /q"}},
          {"the dialect that is asked for",
           [](Facts& f, PathFacts& p) {
             f.dialect = "kazoo";
             p.queue = {Contender(kKazoos)};
           },
           {}},
          {"an election in a lock",
           [](Facts&, PathFacts& p) { p.queue.push_back(Contender(kLeaders)); },
           {"!recipes-mixed /q"}},
          {"Curator's lock and read/write lock",
           [](Facts&, PathFacts& p) {
             p.queue.push_back(
                 Contender("_c_4b4e28ba-2fa1-41d2-883f-0016d3cca427-__WRIT__0000000009"));
           },
           {"!recipes-mixed /q"}},
          {"our lock and read/write lock",
           [](Facts&, PathFacts& p) {
             p.queue = {Contender("_c_7k2m9qz4x1v8b3n-lock-0000000008"),
                        Contender("_c_8k2m9qz4x1v8b3n-__WRIT__0000000009")};
           },
           {}},
          {"Curator's semaphore",
           [](Facts&, PathFacts& p) {
             p.others = {"leases", "locks"};
           },
           {"!semaphore /q", "!foreign-children /q"}},
          {"one that cannot be read",
           [](Facts&, PathFacts& p) { p.queue[0] = {.name = kFirst}; },
           {"contenders-unreadable /q"}},
          {"a queue too long to be read",
           [](Facts&, PathFacts& p) { p.unread = 5; },
           {"queue-too-long /q"}},
          {"a process of this machine",
           [](Facts& f, PathFacts&) {
             f.contenders = {OwnedBy("db7", 4711)};
             f.machine = {"db7", {{4711, {"java", 'S'}}}};
           },
           {}},
          {"no process of this machine",
           [](Facts& f, PathFacts&) {
             f.contenders = {OwnedBy("db7", 4711)};
             f.machine = {"db7", {{4712, {"java", 'S'}}}};
           },
           {"!orphan-process /q"}},
          {"a process of another machine",
           [](Facts& f, PathFacts&) {
             f.contenders = {OwnedBy("db7", 4711)};
             f.machine = {"db8", {}};
           },
           {}},
          {"a contender whose owner is not known",
           [](Facts& f, PathFacts&) {
             f.contenders = {OwnedBy("", 0)};
             f.machine = {"db7", {}};
           },
           {}},
      },
      JudgeQueue);
}

// As a server's Stat shows it: twice the creations, less the children, in 32 bits.
zk::Stat After(std::int64_t created, int children) {
  return {.cversion = static_cast<std::int32_t>(static_cast<std::uint32_t>(2 * created - children)),
          .num_children = children};
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

TEST(JudgeQueue, FindsNumbersNearTheirEnd) {
  Try({{"running out",
        [](Facts&, PathFacts& p) { p.node.stat = After(2'000'000'000, 2); },
        {"!numbers-running-out /q"}},
       {"used up",
        [](Facts&, PathFacts& p) { p.node.stat = After(2'147'000'000, 2); },
        {"!numbers-used-up /q"}}},
      JudgeQueue);
}

TEST(JudgeQueue, ShowsNoNamesThatCannotBeShownAndNotAllOfMany) {
  Facts facts = Healthy();
  PathFacts path = HealthyQueue();
  path.others = std::vector<std::string>(100'000, "\x1b[2J");
  const Findings found = JudgeQueue(facts, path);
  EXPECT_THAT(found.at(0).why, HasSubstr("\\x1b[2J and 99995 more"));
}

void Close(NodeFacts& node) { node.acl = {{31, "digest", "me:x"}}; }

TEST(JudgeAcls, FindsWhatIsWrongWithAcls) {
  Try(
      {
          {"ZooKeeper's default", [](Facts&, PathFacts&) {}, {"acl-open /q"}},
          {"no path", [](Facts&, PathFacts& p) { p = {.path = "/q"}; }, {}},
          {"an open parent of closed contenders",
           [](Facts&, PathFacts& p) { Close(p.queue[0]); },
           {"!acl-open-parent /q"}},
          {"an open parent of unreadable contenders",
           [](Facts&, PathFacts& p) { p.queue[0].acl.reset(); },
           {"!acl-open-parent /q"}},
          {"a parent in which strangers may only create",
           [](Facts& f, PathFacts& p) {
             f.users = {"me"};
             p.node.acl = {{5, "world", "anyone"}, {31, "digest", "me:hash"}};
             Close(p.queue[0]);
           },
           {"!acl-incomplete /q", "acl-open /q"}},
          {"all closed, and ours",
           [](Facts& f, PathFacts& p) {
             f.users = {"other", "me"};
             Close(p.node);
             for (NodeFacts& node : p.queue) Close(node);
           },
           {}},
          {"a closed parent of open contenders, as zkr makes them",
           [](Facts& f, PathFacts& p) {
             f.users = {"me"};
             Close(p.node);
           },
           {"contenders-writable /q"}},
          {"not ours",
           [](Facts& f, PathFacts& p) {
             f.users = {"you"};
             p.node.acl = {{31, "digest", "me:x"}, {1, "world", "anyone"}};
             p.queue.clear();
           },
           {"!acl-lacks /q"}},
          {"perhaps ours",
           [](Facts&, PathFacts& p) {
             p.node.acl = {{31, "ip", "10.0.0.0/8"}, {1, "world", "anyone"}};
             p.queue.clear();
           },
           {"acl-unknown /q"}},
          {"join, but not leave",
           [](Facts&, PathFacts& p) {
             p.node.acl = {{31, "world", "anyone"}, {4, "sasl", "app"}};
           },
           {"acl-open /q"}},
          {"not to be read",
           [](Facts&, PathFacts& p) {
             p.listed = false;
             p.node = {};
           },
           {"!acl-lacks-read /q"}},
          {"a place for a path where this client may create",
           [](Facts&, PathFacts& p) {
             p.kind = PathFacts::Kind::kAncestor;
             p.listed = false;
             p.node.acl = {{4, "world", "anyone"}};
           },
           {}},
          {"a place for a path where it may not",
           [](Facts&, PathFacts& p) {
             p.kind = PathFacts::Kind::kAncestor;
             p.node.acl = {{1, "world", "anyone"}};
           },
           {"!acl-lacks /q"}},
          {"a namespace that is open",
           [](Facts&, PathFacts& p) { p.kind = PathFacts::Kind::kNamespace; },
           {}},
      },
      JudgeAcls);
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
