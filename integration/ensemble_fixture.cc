// SPDX-License-Identifier: Apache-2.0

#include "integration/ensemble_fixture.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/random/random.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include "testing/four_letter_word.h"

namespace zkrecipes::integration {
namespace {

using testing::LocalEnsemble;

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
  if (const char* external = std::getenv("ZKRECIPES_TEST_SERVERS"); external != nullptr) {
    servers_ = external;
  } else {
    absl::StatusOr<std::unique_ptr<LocalEnsemble>> started = LocalEnsemble::Start(Options());
    if (!started.ok()) {
      std::fprintf(stderr, "no ensemble to test on: %s\n", started.status().ToString().c_str());
      std::exit(1);
    }
    local_ = *std::move(started);
    servers_ = local_->servers();
  }
  const std::string without_namespace = servers_.substr(0, servers_.find('/'));
  hosts_ = absl::StrSplit(without_namespace, ',');
}

absl::Status SharedEnsemble::Heal(absl::Duration timeout) {
  if (local_ == nullptr) return absl::OkStatus();
  for (int i = 0; i < size(); ++i) {
    if (local_->state(i) == LocalEnsemble::MemberState::kPaused) {
      if (absl::Status status = local_->Resume(i); !status.ok()) return status;
    }
  }
  for (int i = 0; i < size(); ++i) {
    if (local_->state(i) == LocalEnsemble::MemberState::kDown) {
      if (absl::Status status = local_->Restart(i); !status.ok()) return status;
    }
  }
  return local_->WaitForAll(timeout);
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
