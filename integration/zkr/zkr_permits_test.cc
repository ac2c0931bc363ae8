// SPDX-License-Identifier: Apache-2.0
//
// `zkr lock --permits` on a real ensemble, as a user runs it, and the views of a semaphore.

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include "integration/fixtures/stall.h"
#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ZkrPermitsTest : public ZkrTest {
 protected:
  using Words = std::vector<std::string>;

  // Says its name once it runs, and its sequencer to stdout; ends when it is asked to.
  std::unique_ptr<Zkr> StartNamed(const std::string& name, const Words& flags = {},
                                  const std::string& permits = "3",
                                  const std::string& timeout = "6s") {
    return StartLock(
        Holding("echo $ZKR_SEQUENCER; echo " + name + " >&9; exec sleep 1000"),
        testing::Joined({{"--permits", permits, "--session-timeout", timeout}, flags}));
  }
  // Three that run at once.
  std::vector<std::unique_ptr<Zkr>> StartThree(const std::string& timeout = "6s") {
    std::vector<std::unique_ptr<Zkr>> all;
    for (const char* name : {"one", "two", "three"}) {
      all.push_back(StartNamed(name, {}, "3", timeout));
      EXPECT_TRUE(life_.WaitFor(name));
    }
    return all;
  }
  void ExpectNotRun(const Words& flags, const std::string& result, int status, const Words& words) {
    auto zkr = StartLock("echo ran", flags);
    EXPECT_EQ(zkr->Wait(), status);
    EXPECT_EQ(zkr->Result(), json({{"result", result}, {"status", status}, {"token", nullptr}}));
    for (const std::string& word : words) EXPECT_THAT(zkr->Err(), HasSubstr(word));
    EXPECT_THAT(zkr->Out(), IsEmpty());
  }
  json Listed() { return json::parse(Ask({"ls", node_path(), "--json"}).out); }
  // The words of what the doctor finds.
  Words Found() {
    // Servers that answer too late, in a stall of the machine, are findings.
    json report = json::parse(Undisturbed([&] {
                                return Ask({"doctor", node_path(), "--json"});
                              }).out);
    EXPECT_EQ(report["path"]["permits"].is_number(), true) << report;
    Words found;
    for (const json& f : report["findings"]) found.push_back(f["what"]);
    return found;
  }
  void SetData(const std::string& data) {
    EXPECT_EQ(Connect()->Do(zk::SetData{node_path(), data, -1}).code, zk::Code::kOk);
  }
};

TEST_F(ZkrPermitsTest, ThreeRunAtOnceAndTheFourthWhenOneIsKilled) {
  auto all = StartThree();
  auto fourth = StartNamed("four");
  ASSERT_TRUE(AwaitQueue(4));
  const json listed = Listed();
  EXPECT_EQ(listed["permits"], 3);
  for (int i = 0; i < 4; ++i) {
    const json& shown = listed["contenders"][i];
    EXPECT_EQ(shown["state"], i < 3 ? "held" : "waiting");
    EXPECT_EQ(shown["mode"], "shared");
    EXPECT_EQ(shown["permits"], 3);
  }
  EXPECT_THAT(Ask({"ls", node_path()}).out,
              AllOf(HasSubstr("3 of 3 permits held\n"), HasSubstr("  permit  waiting  ")));
  // It tells why it waits.
  EXPECT_TRUE(Eventually([&] { return !fourth->Err().empty(); }));
  EXPECT_THAT(fourth->Err(), AllOf(HasSubstr(": 3 in front"), HasSubstr(", and by 2 more")));
  ExpectNotRun({"--permits", "3", "-n"}, "not_acquired", 75, {"has no free permit", "held by"});
  ExpectNotRun({"--permits", "3", "-w", "0.1", "--conflict-exit-code", "9"}, "not_acquired", 9, {});
  EXPECT_THAT(Found(), IsEmpty());

  all[1]->Signal(SIGKILL);
  EXPECT_TRUE(life_.WaitFor("four"));
  EXPECT_TRUE(all[0]->IsRunning());
  EXPECT_TRUE(all[2]->IsRunning());
  const std::string sequencer = all[1]->Out();
  EXPECT_EQ(Ask({"check", sequencer.substr(0, sequencer.size() - 1)}).status, 1);
  EXPECT_EQ(Queue().size(), 3u);
}

TEST_F(ZkrPermitsTest, NeverRunsMoreThanThereArePermits) {
  std::vector<std::unique_ptr<Zkr>> all;
  const std::string slot = dir_ / "slot";
  for (int i = 0; i < 8; ++i) {
    all.push_back(StartLock("for i in 1 2; do mkdir " + slot +
                                "$i && break; done || exit 1; "
                                "sleep 0.05; rmdir " +
                                slot + "$i",
                            {"--permits", "2"}));
  }
  for (auto& zkr : all) EXPECT_EQ(zkr->Wait(), 0) << zkr->Err();
  EXPECT_THAT(Queue(), IsEmpty());
}

TEST_F(ZkrPermitsTest, TellsTheCommandWhatItHolds) {
  auto zkr = StartNamed("up", {"--grace", "1s", "--at-least", "1s", "--guard", "process"});
  ASSERT_TRUE(life_.WaitFor("up"));
  const auto queue = Queue();
  ASSERT_EQ(queue.size(), 1u);
  const std::string sequencer =
      absl::StrCat("zkr1:shared:", queue[0].token.value(), ":", node_path(), "/", queue[0].node);
  EXPECT_EQ(zkr->Out(), sequencer + "\n");
  EXPECT_EQ(Ask({"check", sequencer}).out, "holds\n");
  EXPECT_EQ(Ask({"break", node_path(), "--token", queue[0].token.ToString()}).status, 0);
  EXPECT_EQ(zkr->Wait(), 70);
  EXPECT_THAT(zkr->Err(), HasSubstr("the permit of " + node_path() + " was lost while sh ran"));
  EXPECT_EQ(Ask({"check", sequencer}).out, "does not hold\n");
}

// Who wants another number is told both, and what to do about it.
TEST_F(ZkrPermitsTest, RefusesAnotherNumber) {
  auto zkr = StartNamed("up");
  ASSERT_TRUE(life_.WaitFor("up"));
  ExpectNotRun(
      {"--permits", "4"}, "usage", 64,
      {"the semaphore has 3 permits, and --permits is 4", "the data of the node " + node_path()});
  EXPECT_EQ(Queue().size(), 1u);
}

TEST_F(ZkrPermitsTest, AnOperatorMaySetTheNumber) {
  auto all = StartThree();
  auto waiter = StartNamed("waiter");
  ASSERT_TRUE(AwaitQueue(4));
  SetData("4");
  EXPECT_THAT(Found(), ::testing::ElementsAre("permits-differ"));
  EXPECT_THAT(Ask({"ls", node_path()}).out, HasSubstr("3 of 4 permits held\n"));
  auto fourth = StartNamed("four", {}, "4");
  EXPECT_TRUE(life_.WaitFor("four"));
  all[0]->Signal(SIGTERM);
  EXPECT_EQ(waiter->Wait(), 64) << "it came with the old number";
  EXPECT_THAT(waiter->Err(), HasSubstr("the semaphore has 4 permits, and --permits is 3"));
}

TEST_F(ZkrPermitsTest, ALockKeepsAllPermitsBack) {
  auto one = StartNamed("one");
  ASSERT_TRUE(life_.WaitFor("one"));
  auto freeze = StartLock(Holding("echo frozen >&9; exec sleep 1000"));
  ASSERT_TRUE(AwaitQueue(2));
  ExpectNotRun({"--permits", "3", "-n"}, "not_acquired", 75, {"has no free permit"});
  auto two = StartNamed("two");
  ASSERT_TRUE(AwaitQueue(3));
  one->Signal(SIGTERM);
  EXPECT_TRUE(life_.WaitFor("frozen"));
  EXPECT_EQ(Listed()["contenders"][1]["state"], "waiting");
  freeze->Signal(SIGTERM);
  EXPECT_TRUE(life_.WaitFor("two"));
}

TEST_F(ZkrPermitsTest, TheDoctorFindsAStoppedHolder) {
  auto all = StartThree("30s");  // it must look before the session is over
  all[2]->Signal(SIGSTOP);
  EXPECT_THAT(Found(), ::testing::Contains("holder-stopped"));
  const std::vector<std::string> words =
      absl::StrSplit(Ask({"doctor", node_path()}).out, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  EXPECT_THAT(absl::StrJoin(words, " "),
              AllOf(HasSubstr(": 3 contenders, 3 of 3 permits held;"),
                    HasSubstr(" permit held by "), HasSubstr(" and its permit is not free before "),
                    HasSubstr(" and the next is granted a permit; ")));
  all[2]->Signal(SIGKILL);
}

// ---- "A rolling reboot of a fleet" in docs/operations.md: its script, with stand-ins for the
// hosts

constexpr char kSsh[] = R"sh(#!/bin/sh
shift 6  # the options
state=$FLEET/$1
echo "$*" >> "$state-asked"
[ -e "$state-fails" ] && case "$*" in *"$(cat $state-fails)") exit 255 ;; esac
case "$2" in
  *"!= \"$(cat $state-boot)\" ] || systemctl reboot") touch "$state-down"; exit 255 ;;
esac
[ -e "$state-down" ] && [ ! -e "$state-going" ] && exit 255
case "$2" in
  cat) cat "$state-boot" ;;
  test) grep -q first "$state-boot" ;;  # it needs its reboot
esac
)sh";

class RollingRebootTest : public ZkrPermitsTest {
 protected:
  void SetUp() override {
    ZkrPermitsTest::SetUp();
    const std::string text = testing::ReadFile(ZKR_OPERATIONS);
    const size_t begin = text.find("#!/bin/sh\n# reboot-host");
    ASSERT_NE(begin, std::string::npos);
    Write("reboot-host", text.substr(begin, text.find("```", begin) - begin));
    Write("ssh", kSsh);
    Write("fleet-is-well", "#!/bin/sh\n");
    Write("sleep", "#!/bin/sh\nexec /bin/sleep 0.05\n");
    for (int host = 0; host < 4; ++host) Write(Named(host, "-boot"), "first\n");
  }
  static std::string Named(int host, const std::string& what) {
    return absl::StrCat("host", host, what);
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ / name) << text;
    std::filesystem::permissions(dir_ / name, std::filesystem::perms::owner_all);
  }
  std::unique_ptr<Zkr> StartReboot(int host) {
    return StartLock("FLEET=" + dir_.path() + " PATH=" + dir_.path() + ":$PATH exec reboot-host " +
                         Named(host, ""),
                     {"--permits", "3", "--session-timeout", "6s"});
  }
  // ssh reaches this host, but with no command that ends with `command`.
  void Fails(int host, const std::string& command) const { Write(Named(host, "-fails"), command); }
  void FailsNoMore(int host) const { std::filesystem::remove(dir_ / Named(host, "-fails")); }
  bool AwaitAsked(int host, const std::string& command) const {
    return Eventually([&] {
      return absl::StrContains(testing::ReadFile(dir_ / Named(host, "-asked")), command);
    });
  }
  bool IsDown(int host) const { return std::filesystem::exists(dir_ / Named(host, "-down")); }
  bool AwaitDown(int host) const {
    return Eventually([&] { return IsDown(host); });
  }
};

TEST_F(RollingRebootTest, HoldsThePermitUntilTheHostIsBack) {
  std::vector<std::unique_ptr<Zkr>> all;
  for (int host = 0; host < 3; ++host) {
    all.push_back(StartReboot(host));
    ASSERT_TRUE(AwaitDown(host));
  }
  all.push_back(StartReboot(3));
  ASSERT_TRUE(AwaitQueue(4));
  // It still answers, as before the reboot.
  Write(Named(1, "-going"), "");
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_TRUE(all[1]->IsRunning());
  EXPECT_FALSE(IsDown(3));
  Write(Named(1, "-boot"), "second\n");
  EXPECT_EQ(all[1]->Wait(), 0);
  EXPECT_TRUE(AwaitDown(3));
  std::filesystem::remove(dir_ / Named(1, "-down"));
  // Two that do not come back keep their permits. The controller of one of them dies.
  EXPECT_EQ(Queue().size(), 3u);
  all[0]->Signal(SIGKILL);
  EXPECT_TRUE(AwaitQueue(2)) << "the permit is free, though the host is down";
  EXPECT_TRUE(IsDown(0));
  EXPECT_TRUE(all[2]->IsRunning());
  EXPECT_EQ(StartReboot(1)->Wait(), 0) << "again: it needs none";
  EXPECT_FALSE(IsDown(1));
}

TEST_F(RollingRebootTest, TakesNoBrokenConnectionForAnAnswer) {
  Fails(0, "test -e /run/reboot-required");
  EXPECT_EQ(StartReboot(0)->Wait(), 1) << "whether it needs a reboot is not known";
  Fails(1, "systemctl reboot");
  auto one = StartReboot(1);
  EXPECT_TRUE(AwaitAsked(1, "systemctl reboot"));
  EXPECT_FALSE(IsDown(1));
  FailsNoMore(1);
  EXPECT_TRUE(AwaitDown(1)) << "it is asked again";
}

TEST_F(RollingRebootTest, StartedAgainWaitsForAHostThatHasBooted) {
  Write(Named(0, "-boot"), "second\n");
  Fails(0, "is-active --quiet my-service");
  auto zkr = StartReboot(0);
  EXPECT_TRUE(AwaitAsked(0, "is-active"));
  EXPECT_TRUE(zkr->IsRunning());
  FailsNoMore(0);
  EXPECT_EQ(zkr->Wait(), 0);
  EXPECT_FALSE(IsDown(0));
}

}  // namespace
}  // namespace zkrecipes::integration
