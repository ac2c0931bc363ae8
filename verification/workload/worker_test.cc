// SPDX-License-Identifier: Apache-2.0

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/servers/command.h"
#include "testing/local/server_process.h"
#include "testing/local/work_directory.h"
#include "verification/checker/run_directory.h"
#include "verification/workload/crew.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;
using integration::Eventually;
using ::testing::HasSubstr;

// Workers on the shared ensemble, each test's below a root of its own.
class WorkerTest : public integration::ClientTest {
 protected:
  void StartCrew(int workers, CrewOptions options = {}) {
    options.programs = ZKRECIPES_BIN_DIR;
    options.directory = directory_.path();
    options.hosts.resize(static_cast<size_t>(workers));
    options.servers = servers();
    options.arguments.insert(options.arguments.end(), {"--root=" + node_path(), "--paths=1"});
    auto crew = Crew::Start(options);
    ASSERT_TRUE(crew.ok()) << crew.status();
    crew_ = *std::move(crew);
  }

  // The events recorded so far by process number `n` (0: the crew).
  std::vector<Event> Recorded(int n) const {
    return ReadHistory(crew_->histories()[static_cast<size_t>(n)]).value_or(std::vector<Event>());
  }
  std::vector<Event> All(What what) const {
    std::vector<Event> found;
    for (int n = 0; n < static_cast<int>(crew_->histories().size()); ++n) {
      std::ranges::copy_if(Recorded(n), std::back_inserter(found),
                           [what](const Event& event) { return event.what == what; });
    }
    return found;
  }
  int Count(int n, What what) const {
    return static_cast<int>(std::ranges::count(Recorded(n), what, &Event::what));
  }

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::unique_ptr<Crew> crew_;
};

TEST_F(WorkerTest, MixesAllRecipesAndWaysToAsk) {
  StartCrew(3, {.arguments = {"--loops=4"}});
  std::set<std::string> ways, paths, changed;
  ASSERT_TRUE(Eventually([&] {
    for (const Event& invoke : All(What::kInvoke)) {
      ways.insert(invoke.detail.substr(0, invoke.detail.find(' ')));
      paths.insert(invoke.path);
    }
    for (const Event& grant : All(What::kGrant)) {
      if (grant.from == 0) continue;
      changed.insert(grant.mode == Event::Mode::kShared ? "down" : "up");
    }
    return ways.size() == 6 && changed.size() == 2;
  })) << ::testing::PrintToString(ways)
      << ::testing::PrintToString(changed);
  EXPECT_THAT(paths,
              ::testing::ElementsAre(node_path() + "/election-0", node_path() + "/lock-0",
                                     node_path() + "/lock_delay-0", node_path() + "/read_write-0"));
  ASSERT_TRUE(crew_->StopAll().ok());
}

TEST_F(WorkerTest, EndsItsAttemptsAndItselfInOrderAndLeavesNoNode) {
  StartCrew(2, {.session_timeout = absl::Seconds(20)});
  ASSERT_TRUE(Eventually([&] { return All(What::kGrant).size() >= 30; }));
  const absl::Status stopped = crew_->StopAll();
  ASSERT_TRUE(stopped.ok()) << stopped;
  const std::set<What> between = {What::kBelief, What::kWrite, What::kLost};
  for (const int n : {1, 2}) {
    std::map<int64_t, std::string> told;
    for (const Event& event : Recorded(n)) {
      if (event.attempt == 0 || between.count(event.what) > 0) continue;
      told[event.attempt] +=
          ToString(event.what) + std::string(event.detail == "drop" ? " drop " : " ");
    }
    for (const auto& [attempt, story] : told) {
      EXPECT_THAT(story, ::testing::AnyOf("invoke failed ", "invoke grant release released ",
                                          "invoke grant release drop "));
    }
    EXPECT_EQ(Recorded(n).front().what, What::kStart);
    EXPECT_EQ(Recorded(n).back().what, What::kEnd);
    EXPECT_EQ(Recorded(n).back().detail, "OK");
  }
  const auto client = NewClient();
  for (const char* path : {"/lock-0", "/lock_delay-0", "/read_write-0", "/election-0"}) {
    const auto queue = ListContenders(*client, node_path() + path);
    EXPECT_TRUE(!queue.ok() || queue->empty()) << path;
  }
}

TEST_F(WorkerTest, OneThatIsKilledHasNoLastWordAndTheCrewTells) {
  StartCrew(2);
  ASSERT_TRUE(Eventually([&] { return Count(1, What::kGrant) > 0; }));
  ASSERT_TRUE(crew_->Kill(0).ok());
  EXPECT_EQ(Count(1, What::kEnd), 0);
  const std::vector<Event> killed = All(What::kKilled);
  ASSERT_EQ(killed.size(), 1u);
  EXPECT_EQ(killed[0].who, "w0");
  EXPECT_GE(killed[0].at, Recorded(1).back().at);
  ASSERT_TRUE(crew_->Start(0).ok());
  ASSERT_EQ(crew_->histories().size(), 4u);
  EXPECT_TRUE(Eventually([&] { return Count(3, What::kGrant) > 0; })) << "the one in its place";
  EXPECT_EQ(Recorded(3).front().who, "w0");
  EXPECT_NE(Recorded(3).front().detail, Recorded(1).front().detail) << "another pid and seed";
  EXPECT_TRUE(crew_->StopAll().ok());
}

TEST_F(WorkerTest, OneThatEndedByItselfIsAnError) {
  StartCrew(1);
  ASSERT_TRUE(Eventually([&] { return Count(1, What::kStart) > 0; }));
  kill(crew_->pid(0), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return crew_->pid(0) == 0; }));
  EXPECT_EQ(crew_->Check().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(All(What::kKilled).size(), 1u);
  EXPECT_TRUE(crew_->Check().ok()) << "told once";
}

TEST_F(WorkerTest, AWriteAfterAPauseThatWasTooLongIsRefused) {
  StartCrew(2, {.arguments = {"--recipes=lock", "--loops=1"}, .session_timeout = absl::Seconds(1)});
  ASSERT_TRUE(Eventually([&] { return All(What::kWrite).size() >= 5; }));
  // Until one is met while it holds the lock, and wakes up as a careless one.
  for (int i = 0; crew_->resource().counts().refused == 0 && i < 100; ++i) {
    ASSERT_TRUE(Eventually([&] {
      const std::vector<Event> events = Recorded(1);
      return !events.empty() && events.back().what == What::kWrite;
    }));
    ASSERT_TRUE(crew_->Pause(0).ok());
    const size_t grants = All(What::kGrant).size();
    EXPECT_TRUE(Eventually([&] { return All(What::kGrant).size() > grants; }))
        << "the other one is granted meanwhile";
    ASSERT_TRUE(crew_->Resume(0).ok());
    (void)Eventually([&, before = Recorded(1).size()] { return Recorded(1).size() > before + 3; });
  }
  EXPECT_GT(crew_->resource().counts().refused, 0);
  EXPECT_FALSE(All(What::kLost).empty());
  EXPECT_FALSE(All(What::kPaused).empty());
  EXPECT_EQ(All(What::kPaused).size(), All(What::kResumed).size());
  EXPECT_TRUE(crew_->StopAll().ok());
}

TEST_F(WorkerTest, GoesOnWhenItsWallClockIsSet) {
  StartCrew(1, {.session_timeout = absl::Seconds(20)});
  ASSERT_TRUE(Eventually([&] { return Count(1, What::kGrant) > 0; }));
  for (const absl::Duration offset : {absl::Hours(1), -absl::Hours(1)}) {
    ASSERT_TRUE(crew_->SetClock(0, offset).ok());
    const std::string file = testing::ReadFile(directory_.path() + "/w0.clock");
    const int64_t nanoseconds = absl::ToInt64Nanoseconds(offset);
    ASSERT_EQ(file.size(), sizeof(nanoseconds));
    EXPECT_EQ(std::memcmp(file.data(), &nanoseconds, sizeof(nanoseconds)), 0);
    const int grants = Count(1, What::kGrant);
    EXPECT_TRUE(Eventually([&] { return Count(1, What::kGrant) > grants + 5; }));
  }
  const std::string maps = testing::ReadFile(absl::StrCat("/proc/", crew_->pid(0), "/maps"));
  EXPECT_NE(maps.find("w0.clock"), std::string::npos);
  EXPECT_EQ(Count(1, What::kLost), 0);
  EXPECT_TRUE(crew_->StopAll().ok());
}

TEST_F(WorkerTest, NeverOutlivesItsParent) {
  const std::string history = directory_.path() + "/alone.jsonl";
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const auto pid =
      testing::Spawn({.command = {ZKRECIPES_BIN_DIR "/zkrecipes-worker", "--servers=" + servers(),
                                  "--name=alone", "--root=" + node_path(), "--history=" + history},
                      .stdin_fd = ends[0]});
  ASSERT_TRUE(pid.ok()) << pid.status();
  for (const int end : ends) close(end);
  int status = -1;
  ASSERT_EQ(waitpid(*pid, &status, 0), *pid) << "its parent's end is closed";
  EXPECT_EQ(status, 0);
  const auto recorded = ReadHistory(history);
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  EXPECT_EQ(recorded->back().what, What::kEnd);
}

// From there it reaches no server, and ends all the same.
TEST_F(WorkerTest, RunsInTheNetworkNamespaceOfItsHost) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may make a network namespace";
  const auto pid = testing::Spawn({.command = {"/usr/bin/unshare", "--net", "/bin/sleep", "300"}});
  ASSERT_TRUE(pid.ok()) << pid.status();
  testing::ServerProcess sleeper;
  sleeper.Adopt(*pid);
  const std::string path = absl::StrCat("/proc/", *pid, "/ns/net");
  const auto ours = std::filesystem::read_symlink("/proc/self/ns/net");
  ASSERT_TRUE(Eventually([&] { return std::filesystem::read_symlink(path) != ours; }));
  StartCrew(1, {.hosts = {{"", path}}});
  ASSERT_TRUE(Eventually([&] { return Count(1, What::kStart) > 0; }));
  EXPECT_EQ(std::filesystem::read_symlink(absl::StrCat("/proc/", crew_->pid(0), "/ns/net")),
            std::filesystem::read_symlink(path));
  EXPECT_TRUE(crew_->StopAll().ok());
  EXPECT_THAT(Recorded(1).back().detail, HasSubstr("CANCELLED"));
}

// ---- wall_clock.cc ------------------------------------------------------------------------------

// A program's clocks, with the library that is worker/wall_clock.cc.
class WallClockTest : public ::testing::Test {
 protected:
  void Set(absl::Duration offset) {
    const int64_t nanoseconds = absl::ToInt64Nanoseconds(offset);
    std::ofstream(clock_).write(reinterpret_cast<const char*>(&nanoseconds), sizeof(nanoseconds));
  }

  // Returns what python prints.
  double Ask(const std::string& expression) {
    const absl::StatusOr<std::string> printed = servers::Output(
        {"env", std::string("LD_PRELOAD=") + ZKRECIPES_BIN_DIR + "/zkrecipes-wall-clock.so",
         "ZKRECIPES_WALL_CLOCK=" + clock_, "/usr/bin/python3", "-c",
         "import time; print(" + expression + ")"});
    EXPECT_TRUE(printed.ok()) << printed.status();
    return std::stod(printed.value_or("0"));
  }

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::string clock_ = directory_.path() + "/clock";
};

TEST_F(WallClockTest, IsOffByWhatTheFileSays) {
  for (const absl::Duration offset : {absl::Hours(2), -absl::Hours(2), absl::ZeroDuration()}) {
    Set(offset);
    EXPECT_NEAR(Ask("time.time()"), absl::ToDoubleSeconds(absl::Now() + offset - absl::UnixEpoch()),
                600);
  }
}

TEST_F(WallClockTest, LeavesTheOtherClocksAlone) {
  Set(absl::Hours(2));
  EXPECT_NEAR(Ask("time.clock_gettime(time.CLOCK_BOOTTIME)"), 1e-9 * static_cast<double>(Now()),
              600);
}

}  // namespace
}  // namespace zkrecipes::history
