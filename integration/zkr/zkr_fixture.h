// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_FIXTURE_H_

#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "integration/fixtures/client_fixture.h"
#include "integration/zkr/zkr_process.h"

namespace zkrecipes::integration {

// A zkr that was started as a user does, with ZKR_SERVERS set, and its descriptor 3 a file for
// --status-fd. Killed at the end of the test if it still runs.
class Zkr {
 public:
  Zkr(const std::string& servers, const std::vector<std::string>& arguments)
      : Zkr(servers, arguments, ZKRECIPES_BIN_DIR "/zkr") {}
  // `program` empty: the first of the arguments, such as a shell that starts zkr.
  Zkr(const std::string& servers, const std::vector<std::string>& arguments,
      const std::string& program)
      : program_(program.empty() ? arguments : testing::Joined({{program}, arguments}),
                 {.environment = {{"ZKR_SERVERS", servers}}, .in_child = [this] {
                    dup2(open((dir_ / "result").c_str(), O_CREAT | O_WRONLY | O_APPEND, 0666), 3);
                  }}) {}

  pid_t pid() const { return program_.pid(); }
  void Signal(int signal) const { program_.Signal(signal); }
  int Wait() { return program_.Wait(); }  // as Program::Wait
  bool IsRunning() { return program_.IsRunning(); }
  std::string Out() const { return program_.Out(); }
  std::string Err() const { return program_.Err(); }
  // The object that it wrote to descriptor 3; null if nothing.
  nlohmann::json Result() const {
    const std::string text = testing::ReadFile(dir_ / "result");
    return text.empty() ? nlohmann::json() : nlohmann::json::parse(text);
  }

 private:
  testing::TempDir dir_;
  testing::Program program_;
};

// What `zkr ls --watch` says of servers, of which one has taken a second for an answer.
inline auto NothingButOutages() {
  return ::testing::MatchesRegex(
      "(zkr: no server answers since [^\n]*\nzkr: the servers answer again\n)*");
}

// Tests of zkr on a real ensemble. The lock is node_path().
class ZkrTest : public ClientTest, protected testing::Scripts {
 protected:
  void SetUp() override {
    ClientTest::SetUp();
    if (!HasFatalFailure()) other_ = NewClient();
  }
  void TearDown() override {
    other_ = nullptr;
    ClientTest::TearDown();
  }

  std::unique_ptr<Zkr> Start(const std::vector<std::string>& arguments) {
    return std::make_unique<Zkr>(servers(), arguments);
  }
  // Of zkr --servers servers() ARGUMENTS.
  testing::Answer Ask(const std::vector<std::string>& arguments) {
    return testing::RunToEnd(
        testing::Joined({{ZKRECIPES_BIN_DIR "/zkr", "--servers", servers()}, arguments}));
  }
  // zkr lock node_path() --status-fd 3 FLAGS -- sh -c SCRIPT
  std::unique_ptr<Zkr> StartLock(const std::string& script,
                                 const std::vector<std::string>& flags = {}) {
    return StartShell({"lock", node_path(), "--status-fd", "3"}, flags, script);
  }
  // zkr elect node_path() --candidate NAME --status-fd 3 FLAGS -- sh -c SCRIPT
  std::unique_ptr<Zkr> StartCandidate(const std::string& name, const std::string& script,
                                      const std::vector<std::string>& flags = {}) {
    return StartShell({"elect", node_path(), "--candidate", name, "--status-fd", "3"}, flags,
                      script);
  }

  // Says "up" to the life line, and ends when it is asked to.
  static constexpr char kUntilAsked[] = "echo up >&9; exec sleep 1000";
  // Holds the life line, with a grandchild in a session of its own that ends only by SIGKILL.
  std::string HoldingFast() const {
    return Holding(testing::Stubborn("TERM HUP INT") + "echo ready >&9; exec sleep 1000");
  }

  void DeleteNode(const std::string& node) {
    EXPECT_EQ(Connect()->Do(zk::Delete{node_path() + "/" + node}).code, zk::Code::kOk);
  }

  // Another client, for a lock of its own or a look at the queue. Leases end with their client.
  const std::shared_ptr<Client>& other() const { return other_; }
  std::vector<ContenderInfo> Queue() {
    CatchUp(other_);
    return ClientTest::Queue(*other_);
  }
  // Of the queue as it is now, not as a server that lags still shows it.
  bool AwaitQueue(size_t size) {
    CatchUp(other_);
    return ClientTest::AwaitQueue(*other_, size);
  }

 private:
  std::unique_ptr<Zkr> StartShell(const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& flags,
                                  const std::string& script) {
    return Start(testing::Joined({arguments, flags, {"--", "sh", "-c", script}}));
  }

  std::shared_ptr<Client> other_;
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_FIXTURE_H_
