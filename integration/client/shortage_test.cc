// SPDX-License-Identifier: Apache-2.0
//
// Clients of a process that has hardly any descriptors or threads left.

#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "integration/servers/tcp_proxy.h"
#include "zkrecipes/executor.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Connected = absl::StatusOr<std::shared_ptr<Client>>;

constexpr rlim_t kMost = 200;

void AllowDescriptors(rlim_t count) {
  const rlimit limit{count, kMost};
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// Takes all descriptors that this process may have but `left`, until it is destroyed.
class FewDescriptors {
 public:
  explicit FewDescriptors(size_t left) {
    AllowDescriptors(kMost);
    for (int fd = dup(2); fd >= 0; fd = dup(2)) taken_.emplace_back(fd);
    taken_.resize(taken_.size() - left);
  }

 private:
  std::vector<base::UniqueFd> taken_;
};

class ShortageTest : public ClientTest {};

// Tests are not built with UBSan, which looks into the library in the same builds.
#if defined(__has_feature)
#define ZKRECIPES_ASAN __has_feature(address_sanitizer)
#else
#define ZKRECIPES_ASAN 0
#endif

// The loop needs two descriptors, a connection one.
TEST_F(ShortageTest, WithoutDescriptorsConnectSaysAtOnceWhichLimitItRanInto) {
  if (ZKRECIPES_ASAN) GTEST_SKIP() << "UBSan opens pipes to look whether memory is there";
  for (const size_t left : {0u, 1u, 2u}) {
    for (const char* servers : {"127.0.0.1:1", "localhost:1"}) {
      RunInForkedChild([&] {
        const FewDescriptors few(left);
        const absl::Status status = Client::Connect({.servers = servers}, {kSoon}).status();
        EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << left << ": " << status;
        EXPECT_THAT(std::string(status.message()),
                    AllOf(HasSubstr("Too many open files"), HasSubstr("200 descriptors")));
      });
    }
  }
}

TEST_F(ShortageTest, LaterOnALackOfDescriptorsOnlyDelaysTheReconnection) {
  TcpProxy proxy(servers());
  ForkedChild child([&](Line& line) {
    auto client = Client::Connect({.servers = proxy.address()}, {kSoon});
    ASSERT_TRUE(client.ok()) << client.status();
    const States states(**client);
    AllowDescriptors(3);  // it has more already, so none can be made even when one is closed
    line.Say();
    EXPECT_TRUE(states.Await(ClientState::kSuspended));
    absl::SleepFor(absl::Milliseconds(500));  // a few attempts
    EXPECT_TRUE(states.Are(ClientState::kSuspended));
    AllowDescriptors(kMost);
    EXPECT_TRUE(Eventually([&] { return states.Are(ClientState::kConnected); }));
  });
  ASSERT_TRUE(child.line().Hear());
  proxy.ResetAll();
  child.Wait();
}

// Root has no limit of threads, so a child of root becomes another user.
void AllowNoMoreThreads() {
  ASSERT_TRUE(geteuid() != 0 || setresuid(65534, 65534, 65534) == 0);
  const rlimit limit{1, 1};
  ASSERT_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
}

TEST_F(ShortageTest, WithoutAThreadConnectSaysSoToo) {
  RunInForkedChild([] {
    AllowNoMoreThreads();
    const absl::Status status = Client::Connect({.servers = "127.0.0.1:1"}, {kSoon}).status();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
    int answers = 0;
    Client::ConnectAsync({.servers = "127.0.0.1:1", .executor = InlineExecutor()}, {kSoon},
                         [&](const Connected& client) {
                           ++answers;
                           EXPECT_EQ(client.status().code(), StatusCode::kResourceExhausted);
                         });
    EXPECT_EQ(answers, 1);
  });
}

}  // namespace
}  // namespace zkrecipes::integration
