// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_FAULTS_FAULTS_FIXTURE_H_
#define ZKRECIPES_VERIFICATION_FAULTS_FAULTS_FIXTURE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "gtest/gtest.h"

#include "integration/fixtures/ensemble_fixture.h"
#include "lib/base/boot_time.h"
#include "verification/faults/catalogue.h"

namespace zkrecipes::faults {

using integration::Eventually;

// Hosts where clients would be; what is done to them is written down: "kill 1".
class RecordedClients : public Clients {
 public:
  explicit RecordedClients(std::vector<Host> hosts) : hosts_(std::move(hosts)) {}

  int size() const override { return static_cast<int>(hosts_.size()); }
  Host host(int i) const override { return hosts_[i]; }
  absl::Duration session_timeout() const override { return absl::Milliseconds(100); }

  absl::Status Kill(int i) override { return Record("kill", i); }
  absl::Status Start(int i) override { return Record("start", i); }
  absl::Status Pause(int i) override { return Record("pause", i); }
  absl::Status Resume(int i) override { return Record("resume", i); }
  absl::Status SetClock(int i, absl::Duration offset) override;

  std::vector<std::string>& calls() { return calls_; }

  // From now on this one cannot be done.
  void Refuse(const std::string& call) { refused_ = call; }

 private:
  absl::Status Record(const std::string& what, int i);

  std::string refused_;
  std::vector<Host> hosts_;
  std::vector<std::string> calls_;
};

// Faults on three servers that all tests of the program share: processes in namespaces, or, as
// ZKRECIPES_TEST_ENSEMBLE says, containers. Skipped where these cannot be had, with the reason.
class FaultsTest : public ::testing::Test {
 protected:
  void SetUp() override;

  static Network& network();
  static Servers& servers();
  static servers::LocalServers* local();  // null if they are containers
  static RecordedClients& clients();
  Arena arena() { return {servers(), network(), clients(), random_}; }
  static base::BootTime begun() { return begun_; }  // when Do began its fault
  // Begins it, looks, ends it, and sees that the servers serve again. What cannot be done to
  // containers is skipped there.
  using Numbers = std::vector<int>;  // of Targets
  void Do(const std::string& fault, const std::function<void(const Numbers& hit)>& look);

  static int LeaderNow();              // -1 if no member leads
  static int AwaitNewLeader(int but);  // another than this one
  static bool Writes(int i);           // a write sent to this member is committed
  static bool Runs(int i);
  static absl::Duration Uptime(int i);
  static int Running();                   // how many
  static std::string DirectoryOf(int i);  // REQUIRES: local
  static std::string LogOf(int i);        // REQUIRES: local
  // From a host to a member: how long the answer to a four letter word takes.
  static absl::Duration AnswerTime(const Host& from, int member, const std::string& word);

 private:
  static absl::StatusOr<Stage>& Made();

  static inline base::BootTime begun_;
  absl::BitGen random_;
};

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_VERIFICATION_FAULTS_FAULTS_FIXTURE_H_
