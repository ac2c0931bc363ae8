// SPDX-License-Identifier: Apache-2.0

#include "integration/ensemble_fixture.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include "integration/faults/docker_servers.h"
#include "integration/faults/local_servers.h"
#include "testing/four_letter_word.h"
#include "testing/quorum.h"

namespace zkrecipes::integration {
namespace {

// Null until first used. Destroyed by the environment below, so that no server waits for the
// program's static destructors.
std::unique_ptr<SharedEnsemble>& Instance() {
  static auto* const instance = new std::unique_ptr<SharedEnsemble>();
  return *instance;
}

class TearDownAtEnd : public ::testing::Environment {
 public:
  void TearDown() override { Instance().reset(); }
};

[[maybe_unused]] ::testing::Environment* const environment =
    ::testing::AddGlobalTestEnvironment(new TearDownAtEnd);

absl::StatusOr<std::unique_ptr<faults::Servers>> Start(
    const std::string& wanted, const testing::LocalEnsembleOptions& options) {
  if (wanted == "docker") return faults::DockerServers::Start(options);
  if (!wanted.empty() && wanted != "local") {
    return absl::InvalidArgumentError(absl::StrCat("ZKRECIPES_TEST_ENSEMBLE is '", wanted,
                                                   "', not local, docker or a list of servers"));
  }
  auto local = testing::LocalEnsemble::Start(options);
  if (!local.ok()) return local.status();
  return std::make_unique<faults::LocalServers>(*std::move(local));
}

}  // namespace

SharedEnsemble& SharedEnsemble::Get() {
  // gtest runs its tests on one thread; the ensemble is first asked for there.
  if (Instance() == nullptr) Instance().reset(new SharedEnsemble());
  return *Instance();
}

testing::LocalEnsembleOptions& SharedEnsemble::Options() {
  static auto* const options = new testing::LocalEnsembleOptions();
  return *options;
}

SharedEnsemble::SharedEnsemble() {
  const char* variable = std::getenv("ZKRECIPES_TEST_ENSEMBLE");
  const std::string wanted = variable == nullptr ? "" : variable;
  if (absl::StrContains(wanted, ':')) {
    servers_ = wanted;
  } else {
    absl::StatusOr<std::unique_ptr<faults::Servers>> started = Start(wanted, Options());
    if (!started.ok()) {
      std::fprintf(stderr, "no ensemble to test on: %s\n", started.status().ToString().c_str());
      std::exit(1);
    }
    members_ = *std::move(started);
    servers_ = members_->list();
  }
  const std::string without_namespace = servers_.substr(0, servers_.find('/'));
  hosts_ = absl::StrSplit(without_namespace, ',');
}

absl::Status SharedEnsemble::Heal(absl::Duration timeout) {
  return members_ == nullptr ? absl::OkStatus() : faults::Heal(*members_, timeout);
}

absl::Status SharedEnsemble::WaitForQuorum(absl::Duration timeout) {
  return testing::WaitForView([this] { return testing::AskModes(hosts_); },
                              &testing::QuorumView::HasQuorum, timeout);
}

absl::StatusOr<std::string> SharedEnsemble::FourLetterWord(int i, const std::string& word) {
  return testing::FourLetterWord(hosts_[i], word, absl::Seconds(3));
}

absl::StatusOr<int64_t> SharedEnsemble::WatchCount() {
  int64_t sum = 0;
  for (int i = 0; i < size(); ++i) {
    absl::StatusOr<std::map<std::string, std::string>> monitor = Monitor(i);
    if (!monitor.ok()) return monitor.status();
    int64_t count = 0;
    if (!absl::SimpleAtoi((*monitor)["zk_watch_count"], &count)) {
      return absl::UnavailableError("a server does not say how many watches it holds");
    }
    sum += count;
  }
  return sum;
}

absl::StatusOr<std::vector<ConnectionStats>> SharedEnsemble::Connections() {
  std::vector<ConnectionStats> all;
  for (int i = 0; i < size(); ++i) {
    const absl::StatusOr<std::string> answer = FourLetterWord(i, "cons");
    if (!answer.ok()) return answer.status();
    for (ConnectionStats& stats : ParseConnections(*answer)) all.push_back(std::move(stats));
  }
  return all;
}

absl::StatusOr<std::map<std::string, std::string>> SharedEnsemble::Monitor(int i) {
  const absl::StatusOr<std::string> answer = FourLetterWord(i, "mntr");
  if (!answer.ok()) return answer.status();
  return ParseMonitor(*answer);
}

absl::StatusOr<int64_t> SharedEnsemble::PacketsReceived() {
  const absl::StatusOr<std::vector<ConnectionStats>> connections = Connections();
  if (!connections.ok()) return connections.status();
  int64_t sum = 0;
  for (const ConnectionStats& stats : *connections) {
    if (stats.session != 0) sum += stats.received;  // 0: the four letter word itself
  }
  return sum;
}

void EnsembleTest::SetUp() {
  const absl::Status status = ensemble().Heal();
  ASSERT_TRUE(status.ok()) << status.ToString();
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = absl::StrCat(test.test_suite_name(), ".", test.name());
  std::replace(name.begin(), name.end(), '/', '.');  // parameterised tests
  absl::BitGen random;
  node_path_ = absl::StrFormat("/zkrecipes-test/%s-%016x", name, absl::Uniform<uint64_t>(random));
}

}  // namespace zkrecipes::integration
