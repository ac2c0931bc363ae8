// SPDX-License-Identifier: Apache-2.0
//
// The server of examples/ that acquires five hundred locks on one epoll loop.

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "integration/packaging/examples_fixture.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::integration {
namespace {

using testing::Program;

// An instance, and a client of it.
class ShardServer {
 public:
  explicit ShardServer(std::unique_ptr<Program> program)
      : program_(std::move(program)), socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string ready = "serving at 127.0.0.1:";
    EXPECT_TRUE(Eventually([&] { return program_->Out().find('\n') != std::string::npos; }));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::atoi(program_->Out().substr(ready.size()).c_str()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval patience = {.tv_sec = 10, .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  std::string Ask(const std::string& request) const {
    std::array<char, 64> answer;
    if (send(socket_.get(), request.data(), request.size(), 0) < 0) return "";
    const ssize_t size = recv(socket_.get(), answer.data(), answer.size(), 0);
    return size < 0 ? "" : std::string(answer.data(), size);
  }
  bool Serves(const std::string& number) const {
    return Eventually([&] { return Ask("all") == number; });
  }
  int64_t TokenOf(int shard) const { return std::atoll(Ask(std::to_string(shard)).c_str()); }
  // Of its process: it has a folder for each.
  ptrdiff_t Threads() const {
    return std::distance(
        std::filesystem::directory_iterator("/proc/" + std::to_string(program_->pid()) + "/task"),
        {});
  }
  Program& program() { return *program_; }

 private:
  const std::unique_ptr<Program> program_;
  const base::UniqueFd socket_;
};

class ShardServerTest : public ExamplesTest {
 protected:
  std::unique_ptr<ShardServer> Run() {
    return std::make_unique<ShardServer>(Start("shard_server", {"0"}));
  }
};

TEST_F(ShardServerTest, ASecondInstanceHasAllFiveHundredLocksAfterTheFirstWasKilled) {
  auto first = Run();
  ASSERT_TRUE(first->Serves("500"));
  auto second = Run();
  EXPECT_EQ(second->Ask("17"), "elsewhere");
  // The loop, the client's I/O thread, and one or the other of the library's: not one a lock.
  EXPECT_LE(first->Threads(), 6);
  EXPECT_LE(second->Threads(), 6);
  std::array<int64_t, 500> tokens;
  for (int i = 0; i < 500; ++i) tokens[i] = first->TokenOf(i);

  first->program().Signal(SIGKILL);
  ASSERT_TRUE(second->Serves("500"));
  for (int i = 0; i < 500; ++i) {
    EXPECT_TRUE(Eventually([&] { return second->TokenOf(i) > tokens[i]; })) << i;
  }
  EXPECT_LE(second->Threads(), 6);
}

TEST_F(ShardServerTest, AnInstanceThatIsTerminatedHandsAllOver) {
  auto first = Run();
  ASSERT_TRUE(first->Serves("500"));
  auto second = Run();
  first->program().Signal(SIGTERM);
  EXPECT_EQ(first->program().Wait(), 0) << first->program().Err();
  EXPECT_TRUE(second->Serves("500"));
}

// Its session has expired meanwhile: it queues for all of them again.
TEST_F(ShardServerTest, AnInstanceThatWasFrozenServesNothingAndTakesOverLater) {
  auto first = Run();
  ASSERT_TRUE(first->Serves("500"));
  auto second = Run();
  ASSERT_TRUE(Eventually([&] { return second->Ask("17") == "elsewhere"; }));
  first->program().Signal(SIGSTOP);
  ASSERT_TRUE(second->Serves("500"));
  first->program().Signal(SIGCONT);
  EXPECT_EQ(first->Ask("all"), "0");
  second->program().Signal(SIGKILL);
  EXPECT_TRUE(first->Serves("500"));
}

}  // namespace
}  // namespace zkrecipes::integration
