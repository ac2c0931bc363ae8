// SPDX-License-Identifier: Apache-2.0
//
// The ensemble that all tests of one test program share, and what tests ask it.
//
//   class LockTest : public integration::EnsembleTest {};
//   TEST_F(LockTest, SurvivesTheLossOfTheLeader) {
//     ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
//     auto client = Client::Connect({.servers = servers()});
//     ... node_path() ...
//     ASSERT_EQ(members().Kill(*members().Leader()), absl::OkStatus());
//   }
//
// Three servers with a tick of 500 ms (so session timeouts from 1 s on) are started at first use,
// are whole again before each test, and end with the program. ZKRECIPES_TEST_ENSEMBLE in the
// environment says what they are:
//   local   processes of this machine; so too without the variable
//   docker  containers: `./dev test --docker` makes the image and a daemon
//   "host:port,host:port"  somebody's: tests that must kill its members are then skipped
//
// In code inside namespace zkrecipes write `::testing::` for GoogleTest's namespace.

#ifndef ZKRECIPES_INTEGRATION_ENSEMBLE_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ENSEMBLE_FIXTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/faults/servers.h"
#include "integration/four_letter_answers.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {

// Why a test is skipped that would do so to somebody else's.
inline constexpr char kNotOursToDisturb[] =
    "this test kills or stops servers, and those that ZKRECIPES_TEST_ENSEMBLE lists are not ours "
    "to disturb: without that variable it starts its own";

class SharedEnsemble {
 public:
  // Starts it if need be. Ends the program with a message if that fails.
  static SharedEnsemble& Get();
  // What it is started with. REQUIRES: not started yet.
  static testing::LocalEnsembleOptions& Options();

  const std::string& servers() const { return servers_; }
  int size() const { return static_cast<int>(hosts_.size()); }
  const std::string& server(int i) const { return hosts_[i]; }
  faults::Servers* members() { return members_.get(); }  // null if the ensemble is not ours

  // Resumes the paused members, restarts those that are down, waits until all serve.
  absl::Status Heal(absl::Duration timeout = absl::Seconds(60));
  // Blocks until one member leads and a majority serves. DeadlineExceeded if not within `timeout`.
  absl::Status WaitForQuorum(absl::Duration timeout);

  // Errors: see LocalEnsemble.
  absl::StatusOr<std::string> FourLetterWord(int i, const std::string& word);

  // Summed over the servers: how many watches are set (a node watched by two sessions counts two).
  // Not by "wchs": that leaves out children watches, which most of ours are.
  absl::StatusOr<int64_t> WatchCount();
  // All clients' connections to all servers.
  absl::StatusOr<std::vector<ConnectionStats>> Connections();
  // A server's `mntr`, for example {"zk_packets_received", "17"}.
  absl::StatusOr<std::map<std::string, std::string>> Monitor(int i);
  // Packets received from the clients that are connected now: requests, and for each connection one
  // handshake. Among them are the recipes' beats, up to 12 in a session timeout, and a ping after every
  // third of it without a request. To count other requests take the difference of two calls, and a
  // session timeout so long (see Options) that none of these falls between them.
  absl::StatusOr<int64_t> PacketsReceived();

 private:
  SharedEnsemble();

  std::string servers_;
  std::vector<std::string> hosts_;
  std::unique_ptr<faults::Servers> members_;
};

class EnsembleTest : public ::testing::Test {
 protected:
  void SetUp() override;  // heals, and fails the test if that cannot be done

  SharedEnsemble& ensemble() { return SharedEnsemble::Get(); }
  const std::string& servers() { return ensemble().servers(); }
  // REQUIRES: the ensemble is ours.
  faults::Servers& members() { return *ensemble().members(); }

  // A path of this test's own, "/zkrecipes-test/<suite>.<test>-<random>": not created yet, nor is
  // its parent, and nobody removes it.
  const std::string& node_path() const { return node_path_; }

 private:
  std::string node_path_;
};

}  // namespace zkrecipes::integration

// First line of a test that kills, pauses or restarts members.
#define ZKRECIPES_REQUIRE_OWN_ENSEMBLE()                                    \
  if (::zkrecipes::integration::SharedEnsemble::Get().members() == nullptr) \
  GTEST_SKIP() << ::zkrecipes::integration::kNotOursToDisturb

#endif  // ZKRECIPES_INTEGRATION_ENSEMBLE_FIXTURE_H_
