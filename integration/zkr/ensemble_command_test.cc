// SPDX-License-Identifier: Apache-2.0
//
// `zkr ensemble` as a user runs it: processes, output, exit status.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "integration/servers/command.h"
#include "integration/zkr/zkr_process.h"
#include "testing/local/server_files.h"
#include "testing/local/server_process.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using testing::Answer;
using ::testing::HasSubstr;
using testing::StartTimeOf;
using testing::StopProcess;
using testing::TempDir;

constexpr char kZkr[] = ZKRECIPES_BIN_DIR "/zkr";

class EnsembleCommandTest : public ::testing::Test {
 protected:
  void TearDown() override { Run({"stop"}); }

  // `zkr ensemble WORDS --dir DIR`
  Answer Run(const std::vector<std::string>& words) {
    return testing::RunToEnd(testing::Joined({{kZkr, "ensemble"}, words, {"--dir", directory_}}));
  }

  json Status() { return json::parse(Run({"status", "--json"}).out); }

  std::vector<pid_t> Pids() {
    std::vector<pid_t> pids;
    const json status = Status();
    for (const json& member : status["members"]) {
      pids.push_back(member["pid"].is_null() ? 0 : member["pid"].get<pid_t>());
    }
    return pids;
  }

  TempDir temporary_;
  const std::string directory_ = temporary_ / "ensemble";
};

TEST_F(EnsembleCommandTest, RunsNoCommandAndStartsNothingWhereOneIsGiven) {
  const Answer given =
      testing::RunToEnd({kZkr, "ensemble", "start", "--dir", directory_, "--", "true"});
  EXPECT_EQ(given.status, 64);
  EXPECT_THAT(given.err, HasSubstr("ensemble runs no command"));
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(EnsembleCommandTest, StartsShowsAndStopsAndLeavesNothing) {
  const Answer start = Run({"start", "--servers", "3"});
  ASSERT_EQ(start.status, 0) << start.err;
  EXPECT_THAT(start.out, ::testing::MatchesRegex("127.0.0.1:[0-9]+,127.0.0.1:[0-9]+,"
                                                 "127.0.0.1:[0-9]+\n"));
  EXPECT_THAT(start.err, HasSubstr("starting 3"));

  // A server has half a second for its answer.
  json status;
  std::multiset<std::string> modes;
  EXPECT_TRUE(testing::Eventually([&] {
    status = Status();
    modes.clear();
    for (const json& member : status["members"]) modes.insert(member["mode"].get<std::string>());
    return status["quorum"].get<bool>() &&
           modes == std::multiset<std::string>{"follower", "follower", "leader"};
  })) << status;
  EXPECT_EQ(status["servers"].get<std::string>() + "\n", start.out);
  const Answer table = Run({"status"});
  EXPECT_EQ(table.status, 0);
  EXPECT_THAT(table.out, HasSubstr("leader"));

  const std::vector<pid_t> pids = Pids();
  const Answer stop = Run({"stop"});
  EXPECT_EQ(stop.status, 0) << stop.err;
  EXPECT_EQ(stop.out, "");
  for (const pid_t pid : pids) EXPECT_EQ(StartTimeOf(pid), 0u);
  EXPECT_FALSE(std::filesystem::exists(directory_));
}

TEST_F(EnsembleCommandTest, TheServersAreDaemonsOnLoopback) {
  const int leak = open("/dev/zero", O_RDONLY);  // inherited by zkr, and to end there
  ASSERT_EQ(Run({"start", "--servers", "1"}).status, 0);
  close(leak);
  const pid_t pid = Pids().at(0);
  EXPECT_EQ(getsid(pid), pid);
  EXPECT_THAT(servers::ListeningAddressesOf(pid),
              ::testing::Each(::testing::StartsWith("127.0.0.1:")));
  const std::filesystem::path descriptors = "/proc/" + std::to_string(pid) + "/fd";
  EXPECT_EQ(std::filesystem::read_symlink(descriptors / "0"), "/dev/null");
  EXPECT_EQ(std::filesystem::read_symlink(descriptors / "1"), directory_ + "/server1/server.log");
  for (const auto& entry : std::filesystem::directory_iterator(descriptors)) {
    std::error_code closed;  // meanwhile
    EXPECT_NE(std::filesystem::read_symlink(entry, closed), "/dev/zero");
  }
}

TEST_F(EnsembleCommandTest, TheServersHaveThePortsThatWereAskedFor) {
  std::string port;
  Answer start;
  for (int attempt = 0; attempt < 20; ++attempt) {  // three in a row need not be free
    port = absl::StrCat(testing::FreePorts(1)->front());
    start = Run({"start", "--port", port, "--servers", "2"});
    if (start.status != 69) break;
    EXPECT_THAT(start.err, HasSubstr("port "));
    EXPECT_FALSE(std::filesystem::exists(directory_));
  }
  ASSERT_EQ(start.status, 0) << start.err;
  EXPECT_EQ(start.out, absl::StrCat("127.0.0.1:", port, ",127.0.0.1:", std::stoi(port) + 1, "\n"));
  EXPECT_EQ(Run({"start", "--port", port}).out, start.out);
  const Answer other = Run({"start", "--port", "1"});
  EXPECT_EQ(other.status, 64);
  EXPECT_THAT(other.err, HasSubstr("has port " + port + ", not 1"));
  const Answer taken = testing::RunToEnd(
      {kZkr, "ensemble", "start", "--port", port, "--dir", directory_ + "-other"});
  EXPECT_EQ(taken.status, 69);
  EXPECT_THAT(taken.err, HasSubstr("port " + port + ": Address already in use"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "-other"));
}

TEST_F(EnsembleCommandTest, ASecondStartSaysThatItRunsAndPrintsTheSame) {
  const Answer first = Run({"start", "--servers", "1"});
  const std::vector<pid_t> pids = Pids();
  const Answer second = Run({"start"});
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(second.out, first.out);
  EXPECT_THAT(second.err, HasSubstr("already"));
  EXPECT_EQ(Pids(), pids);
  const Answer other = Run({"start", "--servers", "3"});
  EXPECT_EQ(other.status, 64);
  EXPECT_THAT(other.err, HasSubstr("has 1 server(s), not 3"));
}

TEST_F(EnsembleCommandTest, StartBringsBackOnlyTheServersThatDied) {
  const Answer first = Run({"start"});
  const std::vector<pid_t> before = Pids();
  ASSERT_EQ(before.size(), 3u);
  ASSERT_GT(before[0], 0);
  kill(before[0], SIGKILL);
  ASSERT_TRUE(testing::Eventually([&] { return StartTimeOf(before[0]) == 0; }));
  EXPECT_EQ(Status()["members"][0]["mode"], "down");

  const Answer again = Run({"start"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.out, first.out);
  EXPECT_THAT(again.err, HasSubstr("starting 1 of 3"));
  const std::vector<pid_t> after = Pids();
  EXPECT_NE(after[0], before[0]);
  EXPECT_EQ(after[1], before[1]);
  EXPECT_EQ(after[2], before[2]);
}

TEST_F(EnsembleCommandTest, WithoutAQuorumStatusFails) {
  ASSERT_EQ(Run({"start"}).status, 0);
  const std::vector<pid_t> pids = Pids();
  ASSERT_EQ(pids.size(), 3u);
  ASSERT_GT(std::min(pids[1], pids[2]), 0);
  kill(pids[1], SIGKILL);
  StopProcess(pids[2]);  // `stop` has to end this one too
  const Answer status = Run({"status"});
  EXPECT_EQ(status.status, 69);
  EXPECT_THAT(status.out, HasSubstr("no answer"));
  EXPECT_EQ(Run({"stop"}).status, 0);
  for (const pid_t pid : pids) EXPECT_EQ(StartTimeOf(pid), 0u);
}

TEST_F(EnsembleCommandTest, WithoutAnEnsembleStatusFailsAndStopIsDone) {
  const Answer status = Run({"status", "--json"});
  EXPECT_EQ(status.status, 69);
  EXPECT_FALSE(json::parse(status.out)["quorum"].get<bool>());
  EXPECT_THAT(status.err, HasSubstr("no ensemble"));
  const Answer stop = Run({"stop"});
  EXPECT_EQ(stop.status, 0);
  EXPECT_THAT(stop.err, HasSubstr("no ensemble"));
}

TEST_F(EnsembleCommandTest, RefusesWhatItCannotUseAndLeavesItAlone) {
  EXPECT_EQ(Run({"start", "--servers", "0"}).status, 64);
  EXPECT_EQ(Run({"start", "--servers", "many"}).status, 64);
  EXPECT_EQ(Run({"begin"}).status, 64);
  EXPECT_FALSE(std::filesystem::exists(directory_));

  std::filesystem::create_directory(directory_);
  std::ofstream(directory_ + "/letter") << "precious";
  const Answer start = Run({"start"});
  EXPECT_EQ(start.status, 69);
  EXPECT_THAT(start.err, HasSubstr("holds something else"));
  EXPECT_EQ(Run({"stop"}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/letter"));
}

TEST_F(EnsembleCommandTest, SaysThatItCannotPrint) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"start", "--servers", "1"}, {"start"}, {"status"}, {"stop", "--json"}}) {
    testing::Program zkr(testing::Joined({{kZkr, "ensemble"}, words, {"--dir", directory_}}),
                         {.in_child = testing::GiveItAClosedPipe});
    EXPECT_EQ(zkr.Wait(), 71) << words[0];
    EXPECT_THAT(zkr.Err(), HasSubstr("cannot print: Broken pipe")) << words[0];
  }
}

TEST_F(EnsembleCommandTest, KeepsAnEmptyDirectoryThatItWasGiven) {
  std::filesystem::create_directory(directory_);
  ASSERT_EQ(Run({"start", "--servers", "1"}).status, 0);
  ASSERT_EQ(Run({"stop"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace zkrecipes::integration
