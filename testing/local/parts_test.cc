// SPDX-License-Identifier: Apache-2.0
//
// The parts of LocalEnsemble that need no server.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "testing/local/quorum.h"
#include "testing/local/server_process.h"
#include "testing/local/server_start.h"
#include "testing/local/state_file.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::testing {
namespace {

using enum ServerMode;

void ExpectRefused(const LocalEnsembleOptions& options, const std::string& name) {
  const absl::Status status = CheckOptions(options);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.ToString(), ::testing::HasSubstr("LocalEnsembleOptions." + name + " is "));
}

TEST(Options, DefaultsAndLimitsAreAccepted) {
  EXPECT_TRUE(CheckOptions({}).ok());
  EXPECT_TRUE(CheckOptions({.servers = 9,
                            .addresses = std::vector<std::string>(9, "127.0.0.2"),
                            .tick = absl::Milliseconds(1),
                            .max_session_timeout = absl::Milliseconds(2),
                            .extra_config = {{"jute.maxbuffer", "4194304"}},
                            .max_lifetime = absl::InfiniteDuration()})
                  .ok());
}

TEST(Options, EachOptionOutOfRangeIsNamed) {
  ExpectRefused({.servers = 0}, "servers");
  ExpectRefused({.servers = 10}, "servers");
  ExpectRefused({.addresses = {"127.0.0.1"}}, "addresses");
  ExpectRefused({.first_port = -1}, "first_port");
  ExpectRefused({.first_port = 65534}, "first_port");
  ExpectRefused({.servers = 1, .addresses = {"localhost"}}, "addresses");
  ExpectRefused({.tick = absl::ZeroDuration()}, "tick");
  ExpectRefused({.tick = absl::Microseconds(1500)}, "tick");
  ExpectRefused({.tick = absl::InfiniteDuration()}, "tick");
  ExpectRefused({.init_limit = 0}, "init_limit");
  ExpectRefused({.sync_limit = -1}, "sync_limit");
  ExpectRefused({.min_session_timeout = absl::Seconds(-1)}, "min_session_timeout");
  ExpectRefused({.container_check_interval = absl::Hours(1000)}, "container_check_interval");
  ExpectRefused({.max_heap_megabytes = 8}, "max_heap_megabytes");
  ExpectRefused({.start_timeout = absl::ZeroDuration()}, "start_timeout");
  ExpectRefused({.max_lifetime = absl::Seconds(-1)}, "max_lifetime");
}

TEST(Options, TheLongestSessionIsNoShorterThanTheShortest) {
  ExpectRefused({.tick = absl::Seconds(1), .max_session_timeout = absl::Seconds(1)},
                "max_session_timeout");
  ExpectRefused({.min_session_timeout = absl::Seconds(3), .max_session_timeout = absl::Seconds(2)},
                "max_session_timeout");
}

TEST(Options, ExtraConfigCannotSmuggleInAnotherLine) {
  ExpectRefused({.extra_config = {{"a", "b\nclientPort=1"}}}, "extra_config");
  ExpectRefused({.extra_config = {{"a=b", "c"}}}, "extra_config");
  ExpectRefused({.extra_config = {{"", "c"}}}, "extra_config");
}

TEST(QuorumView, ALeaderWithoutAMajorityIsNoQuorum) {
  EXPECT_TRUE((QuorumView{{kFollower, kLeader, kNoAnswer}}).HasQuorum());
  EXPECT_FALSE((QuorumView{{kNotServing, kLeader, kNoAnswer}}).HasQuorum());
  EXPECT_TRUE((QuorumView{{kStandalone}}).HasQuorum());
}

TEST(QuorumView, FollowersWithoutALeaderAreNoQuorum) {
  EXPECT_FALSE((QuorumView{{kFollower, kFollower, kNoAnswer}}).HasQuorum());
}

TEST(QuorumView, TwoMembersThatClaimToLeadAreNoQuorum) {
  const QuorumView view{{kLeader, kFollower, kLeader}};
  EXPECT_FALSE(view.HasQuorum());
  EXPECT_TRUE(absl::IsNotFound(view.Leader().status()));
}

TEST(QuorumView, NamesAMemberThatDoesNotServe) {
  const QuorumView view{{kFollower, kLeader, kNotServing}};
  EXPECT_FALSE(view.AllServe());
  EXPECT_EQ(*view.Leader(), 1);
  EXPECT_EQ(view.FirstNotServing(), 2);
  EXPECT_EQ(view.Describe(), "0: follower, 1: leader, 2: not serving");
}

TEST(ForeignProcess, IsFoundByPidAndStartTimeOnly) {
  const uint64_t start_time = StartTimeOf(getpid());
  ASSERT_GT(start_time, 0u);
  EXPECT_TRUE(ForeignProcess::Find(getpid(), start_time).has_value());
  EXPECT_FALSE(ForeignProcess::Find(getpid(), start_time + 1).has_value());
  EXPECT_FALSE(ForeignProcess::Find(getpid(), 0).has_value());
  EXPECT_FALSE(ForeignProcess::Find(0, 0).has_value());
}

TEST(ForeignProcess, HasEndedBeforeItsParentReapsIt) {
  const absl::StatusOr<pid_t> pid = Spawn({.command = {"/bin/cat"}, .group = std::nullopt});
  ASSERT_TRUE(pid.ok()) << pid.status();
  // `cat` of /dev/null ends at once; an unreaped child keeps its pid.
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(*pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(StartTimeOf(*pid), 0u);
  waitpid(*pid, nullptr, 0);
}

TEST(ForeignProcess, EndsAtASignal) {
  const absl::StatusOr<pid_t> pid = Spawn({.command = {"/bin/sleep", "60"}, .group = std::nullopt});
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(getsid(*pid), *pid);
  std::optional<ForeignProcess> process = ForeignProcess::Find(*pid, StartTimeOf(*pid));
  ASSERT_TRUE(process.has_value());
  EXPECT_FALSE(process->WaitForEnd(absl::ZeroDuration()));
  process->Signal(SIGKILL);
  EXPECT_TRUE(process->WaitForEnd(absl::Seconds(10)));
  waitpid(*pid, nullptr, 0);
}

TEST(WorkDirectory, IsRefusedWhereThereCanBeNone) {
  const WorkDirectory made = WorkDirectory::MakeTemporary(/*keep=*/false).value();
  const std::string file = made.path() + "/file";
  std::ofstream(file) << "text";
  EXPECT_TRUE(absl::IsFailedPrecondition(WorkDirectory::Use(made.path()).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(WorkDirectory::Use(file).status()));
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "/tmp" : before;
  setenv("TMPDIR", file.c_str(), /*replace=*/1);
  EXPECT_TRUE(absl::IsInternal(WorkDirectory::MakeTemporary(/*keep=*/false).status()));
  setenv("TMPDIR", kept.c_str(), /*replace=*/1);
}

TEST(OwnedDirectory, IsMadeForThisUserAloneAlsoIfItsNameEndsInASlash) {
  const WorkDirectory made = WorkDirectory::MakeTemporary(/*keep=*/false).value();
  const auto directory = OwnedDirectory::Lock(made.path() + "/new/", /*make=*/true);
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_EQ(directory->path(), made.path() + "/new");
  EXPECT_TRUE(directory->was_made());
  EXPECT_EQ(std::filesystem::status(directory->path()).permissions(),
            std::filesystem::perms::owner_all);
}

TEST(OwnedDirectory, WithoutANameIsRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(OwnedDirectory::Lock("", /*make=*/true).status()));
}

class StateFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(directory_ + "/ensemble") << text; }
  absl::Status ReadError() { return ReadState(directory_).status(); }

  const WorkDirectory made_ = WorkDirectory::MakeTemporary(/*keep=*/false).value();
  const std::string directory_ = made_.path();
};

TEST_F(StateFileTest, ReadsWhatWasWritten) {
  const EnsembleState state{
      .directory_made = true,
      .servers = {{.spec = {.client_port = 1, .quorum_port = 2, .election_port = 3},
                   .pid = 4,
                   .start_time = 5},
                  {.spec = {.client_port = 6, .quorum_port = 7, .election_port = 8}}}};
  ASSERT_TRUE(WriteState(directory_, state).ok());
  const absl::StatusOr<EnsembleState> read = ReadState(directory_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->directory_made);
  ASSERT_EQ(read->servers.size(), 2u);
  EXPECT_EQ(read->servers[0].pid, 4);
  EXPECT_EQ(read->servers[0].start_time, 5u);
  EXPECT_EQ(read->servers[1].spec.id, 2);
  EXPECT_EQ(read->servers[1].spec.election_port, 8);
  EXPECT_EQ(read->servers[1].spec.directory, directory_ + "/server2");
}

TEST_F(StateFileTest, TellsNothingFromSomethingElse) {
  EXPECT_TRUE(absl::IsNotFound(ReadError()));
  for (const char* text : {"", "zkr-ensemble 2 made\n1 2 3 4 5\n", "zkr-ensemble 1 made\n",
                           "zkr-ensemble 1 made\n1 2 3\n", "zkr-ensemble 1 given\n1 2 3 -4 5\n"}) {
    Write(text);
    EXPECT_TRUE(absl::IsDataLoss(ReadError())) << text;
  }
  RemoveState(directory_);
  EXPECT_TRUE(absl::IsNotFound(ReadError()));
}

}  // namespace
}  // namespace zkrecipes::testing
