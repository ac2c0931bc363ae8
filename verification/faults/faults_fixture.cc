// SPDX-License-Identifier: Apache-2.0

#include "verification/faults/faults_fixture.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/fixtures/raw_client.h"
#include "integration/servers/command.h"
#include "integration/servers/docker_servers.h"
#include "testing/local/quorum.h"
#include "testing/local/read_file.h"
#include "testing/local/server_files.h"

namespace zkrecipes::faults {
namespace {

using servers::DockerServers;

constexpr absl::Duration kPatience = absl::Seconds(60);

}  // namespace

RecordedClients::RecordedClients(Network& network) {
  for (int i = 0; i < 2; ++i) hosts_.push_back(*network.AddHost());
}

absl::Status RecordedClients::SetClock(int i, absl::Duration offset) {
  return Record(offset == absl::ZeroDuration() ? "clock right" : "clock wrong", i);
}

absl::Status RecordedClients::Record(const std::string& what, int i) {
  calls_.push_back(absl::StrCat(what, " ", i));
  if (calls_.back() != refused_) return absl::OkStatus();
  return absl::UnavailableError(refused_);
}

// What goes last was made first.
struct FaultsTest::Ensemble {
  std::unique_ptr<Network> network;
  std::unique_ptr<Servers> servers;
  LocalServers* local = nullptr;
  std::unique_ptr<RecordedClients> clients = nullptr;

  static absl::StatusOr<Ensemble> Local() {
    auto network = Network::Make();
    if (!network.ok()) return network.status();
    auto servers =
        LocalServers::Launch(**network, {.init_limit = 10,
                                         .max_session_timeout = absl::Minutes(1),
                                         .extra_config = {{"fsync.warningthresholdms", "200"}}});
    if (!servers.ok()) return servers.status();
    LocalServers* const local = servers->get();
    return Ensemble{*std::move(network), *std::move(servers), local};
  }

  static absl::StatusOr<Ensemble> Docker() {
    auto servers = DockerServers::Start({.init_limit = 10}, DockerServers::Reach::kBridge);
    if (!servers.ok()) return servers.status();
    const auto& [bridge, first_address, prefix] = (*servers)->bridge();
    auto network = Network::Join(bridge, first_address, prefix);
    if (!network.ok()) return network.status();
    return Ensemble{*std::move(network), *std::move(servers)};
  }

  static absl::StatusOr<Ensemble> Chosen() {
    const char* wanted = getenv("ZKRECIPES_TEST_ENSEMBLE");  // NOLINT(concurrency-mt-unsafe)
    if (wanted == nullptr || std::string(wanted) == "local") return Local();
    if (std::string(wanted) == "docker") return Docker();
    return absl::FailedPreconditionError(integration::kNotOursToDisturb);
  }
};

// The first test makes it, before there are threads.
absl::StatusOr<FaultsTest::Ensemble>& FaultsTest::Made() {
  static auto made = [] {
    auto world = Ensemble::Chosen();
    if (world.ok()) world->clients = std::make_unique<RecordedClients>(*world->network);
    return world;
  }();
  return made;
}

Network& FaultsTest::network() { return *Made()->network; }
Servers& FaultsTest::servers() { return *Made()->servers; }
LocalServers* FaultsTest::local() { return Made()->local; }
RecordedClients& FaultsTest::clients() { return *Made()->clients; }

void FaultsTest::SetUp() {
  const absl::Status& status = Made().status();
  if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status;
  clients().calls().clear();
  clients().Refuse("");
}

const Fault& FaultsTest::Find(const std::string& name) {
  const auto fault = std::find_if(Catalogue().begin(), Catalogue().end(),
                                  [&](const Fault& one) { return one.name == name; });
  EXPECT_NE(fault, Catalogue().end()) << name;
  return *fault;
}

void FaultsTest::Do(const std::string& name, const std::function<void(int target)>& look) {
  const Fault& fault = Find(name);
  if (local() == nullptr && !fault.in_docker) GTEST_SKIP() << "cannot be done to containers";
  Scene scene{servers(), network(), clients(), random_};
  begun_ = base::BootNow();
  auto ongoing = fault.Begin(scene);
  ASSERT_TRUE(ongoing.ok()) << ongoing.status();
  const size_t digit = ongoing->target.find_first_of("0123456789");
  const int number = digit == std::string::npos ? -1 : std::stoi(ongoing->target.substr(digit));
  look(ongoing->target.find("server") == 0 ? number - 1 : number);
  const absl::Status ended = std::move(ongoing->end)();
  EXPECT_TRUE(ended.ok()) << ended;
  const absl::Status whole = servers().WaitForAll(kPatience);
  ASSERT_TRUE(whole.ok()) << whole;
  for (int i = 0; i < servers().size(); ++i)
    EXPECT_TRUE(Eventually([i] { return Writes(i); })) << i;
}

bool FaultsTest::Eventually(const std::function<bool()>& holds) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!holds()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return true;
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
  const auto answer = testing::FourLetterWord(servers().server(i), "mntr", kPatience);
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
      const bool answered = testing::FourLetterWord(servers().server(member), word, kPatience).ok();
      end = base::BootNow();
      return answered;
    }));
  });
  EXPECT_TRUE(status.ok()) << status;
  return end - begin;
}

}  // namespace zkrecipes::faults
