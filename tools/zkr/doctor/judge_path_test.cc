// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/str_cat.h"
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

// The first contender's; `command`: the state of its CMD, if it is a zkr.
Change Owned(const std::string& host, std::int64_t pid, char state, char command = 0) {
  return [=](Facts& f) {
    f.contenders[0].owner = {"", host, pid};
    f.machine = {"db7", {{.pid = 4711, .state = state, .name = "zkr"}}};
    if (command == 0) return;
    f.machine.processes.push_back({4720, 4711, 4711, 'S', "lock-guard"});
    f.machine.processes.push_back({4721, 4720, 4721, 'S', "lock-runner"});
    f.machine.processes.push_back({4722, 4721, 4722, command, "rsync"});
    // Of CMD's own: two that it has left to the runner, and another lock's holder.
    const char other = command == 'T' ? 'S' : 'T';
    f.machine.processes.push_back({4723, 4721, 4722, other, "orphan"});
    f.machine.processes.push_back({4724, 4721, 4724, other, "daemon"});
    f.machine.processes.push_back({4725, 4722, 4722, 'S', "zkr"});
    f.machine.processes.push_back({4726, 4725, 4722, 'S', "lock-guard"});
    f.machine.processes.push_back({4727, 4726, 4727, 'S', "lock-runner"});
    f.machine.processes.push_back({4728, 4727, 4728, other, "job"});
  };
}

// Both sessions are connected; `session` has been silent for so long, of ten seconds.
Change Heard(std::int64_t session, int seconds) {
  return [=](Facts& f) {
    Connections& all = f.servers[0].connections.emplace();
    for (const std::int64_t each : {7, 8}) all[each] = {"h:1", absl::Seconds(10)};
    all[session].silent = absl::Seconds(seconds);
  };
}

Change Second(const ContenderInfo& contender) {
  return [=](Facts& f) { f.contenders[1] = contender; };
}
Change Numbered(std::optional<zk::Stat> stat) {
  return [=](Facts& f) { f.path->stat = stat; };
}
Change Voters(std::optional<int> voters) {
  return [=](Facts& f) { f.servers[1].words.voters = voters; };
}

// Of the guid of kFirst.
constexpr char kTwin[] = "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000008";

TEST(JudgeQueue, FindsWhatIsWrongWithAQueue) {
  const Change empty = [](Facts& f) { f.contenders.clear(); };
  const Change waits = [](Facts& f) { f.contenders[0].holds = false; };
  const Change nowhere = EachServer([](ServerFacts& s) { s.connections.emplace(); });
  Try({
      {"no path", {}, empty, [](Facts& f) { f.path = PathFacts{.path = "/q"}; }},
      {"one that may not be listed",
       {"path-unreadable /q"},
       empty,
       [](Facts& f) { f.path->listed = false; }},
      {"a contender that no session owns",
       {"orphan-persistent /q"},
       [](Facts& f) { f.contenders[0].session = 0; }},
      {"one that cannot be read",
       {},
       [](Facts& f) { f.contenders[0] = {.holds = true, .node = kFirst}; }},
      {"two nodes of one contender", {"orphan-twin /q"}, Second(Contending(1, kTwin, 7))},
      {"one guid in two sessions is no twin", {}, Second(Contending(1, kTwin, 8))},
      {"a process of this machine", {}, Owned("db7", 4711, 'S')},
      {"a holder that is stopped", {"holder-stopped /q"}, Owned("db7", 4711, 'T')},
      {"one whose command is stopped", {"holder-stopped /q"}, Owned("db7", 4711, 'S', 'T')},
      {"one whose command works", {}, Owned("db7", 4711, 'S', 'D')},
      {"a holder that is silent", {"holder-silent /q"}, Heard(7, 6)},
      {"one that has just been heard", {}, Heard(7, 4)},
      {"a waiter that is silent", {}, Heard(8, 6)},
      {"a holder that no server is connected to", {"holder-silent /q"}, nowhere},
      {"nor one of a part of the ensemble", {}, nowhere, Voters(5)},
      {"nor the server that it has left", {}, Heard(7, 6), Voters(std::nullopt)},
      {"stopped, and so silent", {"holder-stopped /q"}, Owned("db7", 4711, 'T'), Heard(7, 6)},
      {"a waiter that is stopped", {}, Owned("db7", 4711, 'T'), waits},
      {"no process of this machine", {"orphan-process /q"}, Owned("db7", 4712, 'S')},
      {"a process of another machine", {}, Owned("db8", 4711, 'T')},
      {"a contender whose owner is not known", {}, Owned("", 0, 'T')},
      {"few numbers", {"numbers-running-out /q"}, Numbered(After(2'000'000'000, 2))},
      {"none", {"numbers-used-up /q"}, Numbered(After(2'147'000'000, 2))},
      {"half of them", {}, Numbered(After(1 << 30, 2))},
      {"numbers that may not be read", {}, Numbered(std::nullopt)},
  });
}

// Three permits, of which one is held by a process that is here.
Change Semaphore(const std::string& data) {
  return [=](Facts& f) {
    f.path->data = data;
    f.contenders.clear();
    for (int i = 0; i < 4; ++i) {
      const std::string guid = absl::StrCat("_c_", i, "b4e28ba-2fa1-41d2-883f-0016d3cca427");
      f.contenders.push_back(Contending(i, absl::StrCat(guid, "-permit-000000000", i), 7 + i));
      f.contenders[i].holds = i < 3;
      f.contenders[i].mode = GrantMode::kShared;
      f.contenders[i].permits = 3;
    }
  };
}
Change Blind() {
  return [](Facts& f) { f.path->blind = {"1b4e28ba2fa141d2883f0016d3cca427"}; };
}
Change CameWith(int permits) {
  return [=](Facts& f) { f.contenders[1].permits = permits; };
}

TEST(JudgeQueue, FindsWhatIsWrongWithASemaphore) {
  Try({
      {"three that hold at once", {}, Semaphore("3")},
      {"one that is stopped", {"holder-stopped /q"}, Semaphore("3"), Owned("db7", 4711, 'T')},
      {"one that came with another number", {"permits-differ /q"}, Semaphore("3"), CameWith(4)},
      {"one that says none", {"permits-differ /q"}, Semaphore("3"), CameWith(0)},
      {"one whose node may not be read",
       {},
       Semaphore("3"),
       CameWith(0),
       [](Facts& f) { f.contenders[1].node_czxid = 0; }},
      {"a number that was changed", {"permits-differ /q"}, Semaphore("2")},
      {"data that are no number", {"permits-no-number /q"}, Semaphore("3\n")},
      {"none that holds, and no number yet", {}, Semaphore("")},
      {"another library's permit", {"blind-contender /q"}, Semaphore("3"), Blind()},
      {"which is there alone",
       {"blind-contender /q"},
       [](Facts& f) { f.contenders.clear(); },
       [](Facts& f) { f.path->data = "3"; },
       Blind()},
      {"another library's lock", {}, Blind()},
      {"a lock whose path has data", {}, [](Facts& f) { f.path->data = "config"; }},
  });
}

TEST(JudgeQueue, SaysWhatToDoAboutTheNumber) {
  Facts facts = Healthy();
  Semaphore("5")(facts);
  const Finding differ = Diagnose(facts).at(0);
  EXPECT_STREQ(differ.sure, kLikely);
  EXPECT_THAT(differ.seen, ::testing::AllOf(::testing::HasSubstr("name 5 permits"),
                                            ::testing::HasSubstr("-permit-0000000000 (3)")));
  EXPECT_THAT(differ.todo, ::testing::HasSubstr("--permits 5"));
  Semaphore("x\x1b")(facts);
  EXPECT_THAT(Diagnose(facts).at(0).seen, ::testing::HasSubstr("\"x\\x1b\""));
}

TEST(JudgeQueue, SendsNobodyToACommandThatRefusesATokenOfSeveral) {
  Facts facts = Healthy();
  for (ContenderInfo& c : facts.contenders) c.session = 0;
  EXPECT_THAT(Diagnose(facts).at(0).todo, ::testing::EndsWith("as zkr ls shows it)"));
  facts.contenders[1].token = facts.contenders[0].token;
  EXPECT_THAT(Diagnose(facts).at(0).todo, ::testing::HasSubstr("delete it by its name"));
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

const Change kMe = [](Facts& f) { f.users = {"me"}; };
Change Parent(const Acl& acl) {
  return [=](Facts& f) { f.path->acl = acl; };
}
Change First(const std::optional<Acl>& acl) {
  return [=](Facts& f) { f.path->children[kFirst] = acl; };
}
Change Epoch(const Acl& acl, const Acl& record) {
  return [=](Facts& f) {
    f.epoch_parent = {.of_epoch = true, .path = "/p", .exists = true, .acl = acl};
    f.epoch_parent->children = {{"/p/epoch", record}};
  };
}

TEST(JudgeAcls, FindsWhatIsWrongWithAcls) {
  const Acl may_create = {{5, "world", "anyone"}, {31, "digest", "me:hash"}};
  const Acl hidden = {{31, "digest", "me:x"}, {1, "world", "anyone"}};
  const Change both = [](Facts& f) { f.users = {"other", "me"}; };
  const Change no_epoch = [](Facts& f) {
    f.epoch_parent = {.of_epoch = true, .path = "/zkrecipes"};
  };
  const std::string foreign = "epoch-foreign /p/epoch", open_q = "acl-open-parent /q";
  Try({
      {"an open parent of closed contenders", {open_q}, First(kClosed)},
      {"an open parent of unreadable contenders", {open_q}, First(std::nullopt)},
      {"strangers may only create", {}, kMe, Parent(may_create), First(kClosed)},
      {"all closed, and ours", {}, both, Parent(kClosed), First(kClosed)},
      {"a closed parent of open contenders, as zkr makes them", {}, kMe, Parent(kClosed)},
      {"an epoch that is open, as by default", {}, Epoch(kOpen, kOpen)},
      {"one that its users alone may write", {}, Epoch(kReadable, kReadable)},
      {"one that everyone may delete", {"acl-open-parent /p"}, Epoch(kOpen, kReadable)},
      {"one that not everyone may read", {"epoch-closed /p/epoch"}, Epoch(kReadable, kClosed)},
      {"one of ours that is open to strangers", {foreign}, kMe, Epoch(kOpen, kOpen)},
      {"that they may replace", {foreign, "acl-open-parent /p"}, kMe, Epoch(kOpen, kReadable)},
      {"of another, who calls himself so", {foreign}, kMe, Epoch(kReadable, hidden)},
      {"an epoch of ours", {}, kMe, Epoch(kReadable, kReadable)},
      {"one that anyone may make first", {"epoch-missing /zkrecipes/epoch"}, kMe, no_epoch},
      {"no epoch, where all is open", {}, no_epoch},
  });
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
