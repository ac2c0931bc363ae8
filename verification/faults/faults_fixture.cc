// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/faults_fixture.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "integration/fixtures/raw_client.h"
#include "integration/servers/command.h"
#include "testing/local/quorum.h"
#include "testing/local/server_files.h"
#include "testing/local/work_directory.h"

namespace zkrecipes::faults {
namespace {

using integration::kSoon;

absl::StatusOr<Stage> ChosenStage() {
  const char* wanted = getenv("ZKRECIPES_TEST_ENSEMBLE");  // NOLINT(concurrency-mt-unsafe)
  const std::string kind = wanted == nullptr ? "local" : wanted;
  if (kind == "docker") return MakeStage(/*docker=*/true, {.init_limit = 10}, /*hosts=*/2);
  if (kind != "local") return absl::FailedPreconditionError(integration::kNotOursToDisturb);
  return MakeStage(/*docker=*/false,
                   {.init_limit = 10, .extra_config = {{"fsync.warningthresholdms", "200"}}},
                   /*hosts=*/2);
}

}  // namespace

absl::Status RecordedClients::SetClock(int i, absl::Duration offset) {
  return Record(offset == absl::ZeroDuration() ? "clock right" : "clock wrong", i);
}

absl::Status RecordedClients::Record(const std::string& what, int i) {
  calls_.push_back(absl::StrCat(what, " ", i));
  if (calls_.back() != refused_) return absl::OkStatus();
  return absl::UnavailableError(refused_);
}

// The first test makes it, before there are threads.
absl::StatusOr<Stage>& FaultsTest::Made() {
  static auto made = ChosenStage();
  return made;
}

Network& FaultsTest::network() { return *Made()->network; }
Servers& FaultsTest::servers() { return *Made()->servers; }
servers::LocalServers* FaultsTest::local() { return Made()->local; }

RecordedClients& FaultsTest::clients() {
  static RecordedClients clients(Made()->hosts);
  return clients;
}

void FaultsTest::SetUp() {
  const absl::Status& status = Made().status();
  if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  clients().calls().clear();
  clients().Refuse("");
}

void FaultsTest::Do(const std::string& name, const std::function<void(const Numbers& hit)>& look) {
  const Fault* const fault = FindFault(name);
  ASSERT_NE(fault, nullptr);
  if (local() == nullptr && !fault->in_docker) GTEST_SKIP() << "cannot be done to containers";
  Arena arena = this->arena();
  begun_ = base::BootNow();
  auto ongoing = fault->Begin(arena);
  ASSERT_TRUE(ongoing.ok()) << ongoing.status();
  look(ongoing->targets.numbers);
  const absl::Status ended = std::move(ongoing->end)();
  EXPECT_TRUE(ended.ok()) << ended;
  const absl::Status whole = servers().WaitForAll(kSoon);
  ASSERT_TRUE(whole.ok()) << whole;
  for (int i = 0; i < servers().size(); ++i) {
    EXPECT_TRUE(Eventually([i] { return Writes(i); })) << i;
  }
}

int FaultsTest::LeaderNow() { return servers().Leader().value_or(-1); }

int FaultsTest::AwaitNewLeader(int but) {
  int leader = -1;
  EXPECT_TRUE(Eventually([&] { return (leader = LeaderNow()) >= 0 && leader != but; }));
  return leader;
}

bool FaultsTest::Writes(int i) {
  static int count = 0;
  return integration::CreateNode(servers().server(i), absl::StrCat("/written-", ++count));
}

bool FaultsTest::Runs(int i) {
  return testing::FourLetterWord(servers().server(i), "ruok", absl::Seconds(1)).ok();
}

absl::Duration FaultsTest::Uptime(int i) {
  const auto answer = testing::FourLetterWord(servers().server(i), "mntr", kSoon);
  auto monitor = integration::ParseMonitor(answer.value_or(""));
  return absl::Milliseconds(std::stod(monitor["zk_uptime"]));
}

int FaultsTest::Running() {
  int running = 0;
  for (int i = 0; i < servers().size(); ++i) running += Runs(i) ? 1 : 0;
  return running;
}

std::string FaultsTest::DirectoryOf(int i) {
  return testing::ServerDirectory(local()->ensemble().directory(), i + 1);
}

std::string FaultsTest::LogOf(int i) { return testing::ReadFile(DirectoryOf(i) + "/server.log"); }

absl::Duration FaultsTest::AnswerTime(const Host& from, int member, const std::string& word) {
  base::BootTime begin;
  base::BootTime end;
  const absl::Status status = servers::InNamespace(from.network_namespace, [&] {
    // A member that looks for a leader may drop the connection.
    EXPECT_TRUE(Eventually([&] {
      begin = base::BootNow();
      const bool answered = testing::FourLetterWord(servers().server(member), word, kSoon).ok();
      end = base::BootNow();
      return answered;
    }));
  });
  EXPECT_TRUE(status.ok()) << status;
  return end - begin;
}

}  // namespace zkrecipes::faults
