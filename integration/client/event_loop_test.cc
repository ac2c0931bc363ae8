// SPDX-License-Identifier: Apache-2.0
//
// Many clients on one I/O thread.

#include "zkrecipes/event_loop.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "integration/fixtures/client_fixture.h"

namespace zkrecipes::integration {
namespace {

int IoThreads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    count += name == "zkrecipes-io" ? 1 : 0;
  }
  return count;
}

class EventLoopTest : public ClientTest {
 protected:
  void SetUp() override {
    ClientTest::SetUp();
    (void)Connect()->Do(zk::Get{"/"});  // so the fixture's own thread has its name
    before_ = IoThreads();
    loop_ = *EventLoop::Start();
  }
  std::vector<std::shared_ptr<Client>> Clients(int count) {
    std::vector<std::shared_ptr<Client>> clients;
    for (int i = 0; i < count; ++i) clients.push_back(NewClient({.loop = loop_}));
    return clients;
  }
  int before_ = 0;
  std::shared_ptr<EventLoop> loop_;
};

TEST_F(EventLoopTest, CarriesAHundredAndTwentyEightClientsWithOneThread) {
  std::vector<std::shared_ptr<Client>> clients = Clients(128);
  EXPECT_LE(IoThreads(), before_ + 1);  // earlier tests' may go meanwhile
  std::vector<Pending> alone;
  std::atomic<int> had_it = 0;
  for (size_t i = 0; i < clients.size(); ++i) {
    alone.emplace_back(clients[i], absl::StrCat(node_path(), "/", i));
    // Dropped at once: the next one's turn.
    Lock(clients[i], node_path() + "/all")
        .AcquireAsync({},
                      [&](const absl::StatusOr<Lease>& lease) { had_it += lease.ok() ? 1 : 0; });
  }
  std::vector<Lease> held;
  for (Pending& each : alone) held.push_back(*each.Get());
  EXPECT_TRUE(Eventually([&] { return had_it == 128; }));
  for (Lease& lease : held) EXPECT_TRUE(lease.believed());
}

TEST_F(EventLoopTest, GoesOnWithTheOthersWhenAClientGoes) {
  std::vector<std::shared_ptr<Client>> clients = Clients(3);
  const Lease held = Acquired(clients[2], node_path() + "/held");
  EXPECT_EQ(clients[0]->Close({kSoon}), absl::OkStatus());
  clients[1].reset();
  EXPECT_TRUE(held.believed());
  EXPECT_TRUE(Lock(clients[2], node_path() + "/next").Acquire({kSoon}).ok());
}

TEST_F(EventLoopTest, EndsWithTheLastOfThem) {
  std::vector<std::shared_ptr<Client>> clients = Clients(2);
  loop_.reset();
  EXPECT_TRUE(Lock(clients[1], node_path()).Acquire({kSoon}).ok());
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return IoThreads() <= before_; }));
}

// A handle with much to do leaves the others their turn, and so does one that nothing answers.
TEST_F(EventLoopTest, ServesAClientBesideOneWithoutAServer) {
  auto dead = Client::Create({.servers = "127.0.0.1:1", .loop = loop_});
  ASSERT_TRUE(dead.ok()) << dead.status();
  auto client = NewClient({.loop = loop_});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Lock(client, node_path()).Acquire({kSoon}).ok());
  }
}

TEST_F(EventLoopTest, RefusesAClientThatWouldWaitForItself) {
  auto client = NewClient({.executor = InlineExecutor(), .loop = loop_});
  std::promise<absl::Status> refused;
  Lock(client, node_path()).AcquireAsync({}, [&](absl::StatusOr<Lease>) {
    refused.set_value(Client::Connect({.servers = servers(), .loop = loop_}).status());
  });
  EXPECT_EQ(refused.get_future().get().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace zkrecipes::integration
