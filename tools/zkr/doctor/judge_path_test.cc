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

// Both sessions are connected; `session` has been silent for so long, of ten seconds.
void Heard(Facts& facts, std::int64_t session, int seconds) {
  Connections& all = facts.servers[0].connections.emplace();
  for (const std::int64_t each : {7, 8}) all[each] = {"h:1", absl::Seconds(10)};
  all[session].silent = absl::Seconds(seconds);
}

// Of the guid of kFirst.
constexpr char kTwin[] = "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000008";

TEST(JudgeQueue, FindsWhatIsWrongWithAQueue) {
  Try({
      Mess("no path", {},
           [](Facts& f) {
             f.path = PathFacts{.path = "/q"};
             f.contenders.clear();
           }),
      Mess("a path that may not be listed", {"path-unreadable /q"},
           [](Facts& f) {
             f.path->listed = false;
             f.contenders.clear();
           }),
      Mess("a contender that no session owns", {"orphan-persistent /q"},
           [](Facts& f) { f.contenders[0].session = 0; }),
      Mess("a contender that cannot be read", {},
           [](Facts& f) { f.contenders[0] = {.holds = true, .node = kFirst}; }),
      Mess("two nodes of one contender", {"orphan-twin /q"},
           [](Facts& f) { f.contenders[1] = Contending(1, kTwin, 7); }),
      Mess("one guid in two sessions is no twin", {},
           [](Facts& f) { f.contenders[1] = Contending(1, kTwin, 8); }),
      Mess("a process of this machine", {}, [](Facts& f) { OwnedBy(f, "db7", 4711, 'S'); }),
      Mess("a holder that is stopped", {"holder-stopped /q"},
           [](Facts& f) { OwnedBy(f, "db7", 4711, 'T'); }),
      Mess("a holder whose command is stopped", {"holder-stopped /q"},
           [](Facts& f) {
             OwnedBy(f, "db7", 4711, 'S');
             f.machine.processes[4711].command = 4712;
             f.machine.processes[4712] = {"rsync", 'T'};
           }),
      Mess("a holder whose command works", {},
           [](Facts& f) {
             OwnedBy(f, "db7", 4711, 'S');
             f.machine.processes[4711].command = 4712;
             f.machine.processes[4712] = {"rsync", 'D'};
           }),
      Mess("a holder that is silent", {"holder-silent /q"}, [](Facts& f) { Heard(f, 7, 6); }),
      Mess("a holder that has just been heard", {}, [](Facts& f) { Heard(f, 7, 4); }),
      Mess("a waiter that is silent", {}, [](Facts& f) { Heard(f, 8, 6); }),
      Mess("a holder that no server is connected to", {"holder-silent /q"},
           [](Facts& f) {
             for (ServerFacts& server : f.servers) server.connections.emplace();
           }),
      Mess("a holder that no server of a part of the ensemble is connected to", {},
           [](Facts& f) {
             for (ServerFacts& server : f.servers) server.connections.emplace();
             f.servers[1].words.voters = 5;
           }),
      Mess("a holder that the server is not connected to that it has left", {},
           [](Facts& f) {
             Heard(f, 7, 6);
             f.servers[1].words.voters = std::nullopt;
           }),
      Mess("a holder that is stopped, and so silent", {"holder-stopped /q"},
           [](Facts& f) {
             OwnedBy(f, "db7", 4711, 'T');
             Heard(f, 7, 6);
           }),
      Mess("a waiter that is stopped", {},
           [](Facts& f) {
             OwnedBy(f, "db7", 4711, 'T');
             f.contenders[0].holds = false;
           }),
      Mess("no process of this machine", {"orphan-process /q"},
           [](Facts& f) { OwnedBy(f, "db7", 4712, 'S'); }),
      Mess("a process of another machine", {}, [](Facts& f) { OwnedBy(f, "db8", 4711, 'T'); }),
      Mess("a contender whose owner is not known", {}, [](Facts& f) { OwnedBy(f, "", 0, 'T'); }),
      Mess("numbers that run out", {"numbers-running-out /q"},
           [](Facts& f) { f.path->stat = After(2'000'000'000, 2); }),
      Mess("numbers that are used up", {"numbers-used-up /q"},
           [](Facts& f) { f.path->stat = After(2'147'000'000, 2); }),
      Mess("half of the numbers", {}, [](Facts& f) { f.path->stat = After(1 << 30, 2); }),
      Mess("a node whose numbers may not be read", {}, [](Facts& f) { f.path->stat.reset(); }),
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

void AddEpoch(Facts& facts, const Acl& acl, const Acl& record) {
  facts.epoch_parent = {.of_epoch = true, .path = "/p", .exists = true, .acl = acl};
  facts.epoch_parent->children = {{"/p/epoch", record}};
}

TEST(JudgeAcls, FindsWhatIsWrongWithAcls) {
  Try({
      Mess("an open parent of closed contenders", {"acl-open-parent /q"},
           [](Facts& f) { f.path->children[kFirst] = kClosed; }),
      Mess("an open parent of unreadable contenders", {"acl-open-parent /q"},
           [](Facts& f) { f.path->children[kFirst].reset(); }),
      Mess("a parent in which strangers may only create", {},
           [](Facts& f) {
             f.users = {"me"};
             f.path->acl = {{5, "world", "anyone"}, {31, "digest", "me:hash"}};
             f.path->children[kFirst] = kClosed;
           }),
      Mess("all closed, and ours", {},
           [](Facts& f) {
             f.users = {"other", "me"};
             f.path->acl = f.path->children[kFirst] = f.path->children[kSecond] = kClosed;
           }),
      Mess("a closed parent of open contenders, as zkr makes them", {},
           [](Facts& f) {
             f.users = {"me"};
             f.path->acl = kClosed;
           }),
      Mess("an epoch that is open, as by default", {}, [](Facts& f) { AddEpoch(f, kOpen, kOpen); }),
      Mess("an epoch that its users alone may write", {},
           [](Facts& f) { AddEpoch(f, kReadable, kReadable); }),
      Mess("an epoch that everyone may delete, though it is closed", {"acl-open-parent /p"},
           [](Facts& f) { AddEpoch(f, kOpen, kReadable); }),
      Mess("an epoch that not everyone may read", {"epoch-closed /p/epoch"},
           [](Facts& f) { AddEpoch(f, kReadable, kClosed); }),
      Mess("an epoch that is open to strangers of one who has credentials",
           {"epoch-foreign /p/epoch"},
           [](Facts& f) {
             f.users = {"me"};
             AddEpoch(f, kOpen, kOpen);
           }),
      Mess("an epoch that strangers may replace", {"epoch-foreign /p/epoch", "acl-open-parent /p"},
           [](Facts& f) {
             f.users = {"me"};
             AddEpoch(f, kOpen, kReadable);
           }),
      Mess("an epoch of another's, who calls himself so", {"epoch-foreign /p/epoch"},
           [](Facts& f) {
             f.users = {"me"};
             const Acl hidden = {{31, "digest", "me:x"}, {1, "world", "anyone"}};
             AddEpoch(f, kReadable, hidden);
           }),
      Mess("an epoch of ours", {},
           [](Facts& f) {
             f.users = {"me"};
             AddEpoch(f, kReadable, kReadable);
           }),
      Mess("an epoch that anyone may make first", {"epoch-missing /zkrecipes/epoch"},
           [](Facts& f) {
             f.users = {"me"};
             f.epoch_parent = {.of_epoch = true, .path = "/zkrecipes"};
           }),
      Mess("no epoch, where all is open", {},
           [](Facts& f) { f.epoch_parent = {.of_epoch = true, .path = "/zkrecipes"}; }),
  });
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
