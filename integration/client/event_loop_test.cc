// SPDX-License-Identifier: Apache-2.0
//
// Many clients on one I/O thread.

#include "zkrecipes/event_loop.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <latch>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

// One that waited for the answer on the loop's thread would have kept it for 1.5 s each.
TEST_F(EventLoopTest, CostsNobodyALeaseWhileOthersCloseOnASilentServer) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const int leader = LeaderOf(members());
  const int silent = (leader + 1) % 3;
  const auto on = [&](int server) {
    return NewClient(
        {.servers = ensemble().server(server), .session_timeout = absl::Seconds(4), .loop = loop_});
  };
  std::vector<std::shared_ptr<Client>> closing;
  for (int i = 0; i < 8; ++i) closing.push_back(on(silent));
  // Longer than what a slow machine takes away, and shorter than eight such waits.
  auto neighbour = NewClient(
      {.servers = ensemble().server(leader), .session_timeout = absl::Seconds(10), .loop = loop_});
  const Lease held = Acquired(neighbour);
  ASSERT_EQ(members().Pause(silent), absl::OkStatus());
  std::vector<std::future<absl::Status>> closed;
  for (const auto& client : closing) {
    closed.push_back(std::async(std::launch::async, [client] { return client->Close({kSoon}); }));
  }
  for (auto& status : closed) {
    const absl::Status unconfirmed = status.get();
    EXPECT_EQ(unconfirmed.code(), StatusCode::kDeadlineExceeded) << unconfirmed;
    EXPECT_THAT(std::string(unconfirmed.message()), HasSubstr("no server has confirmed"));
  }
  EXPECT_TRUE(held.believed());
  ASSERT_EQ(members().Resume(silent), absl::OkStatus());
}

TEST_F(EventLoopTest, RefusesAClientThatWouldWaitForItself) {
  auto client = NewClient({.executor = InlineExecutor(), .loop = loop_});
  std::promise<absl::Status> refused;
  Lock(client, node_path()).AcquireAsync({}, [&](absl::StatusOr<Lease>) {
    refused.set_value(Client::Connect({.servers = servers(), .loop = loop_}).status());
  });
  EXPECT_EQ(refused.get_future().get().code(), absl::StatusCode::kFailedPrecondition);
}

// Clients of a process that has hardly any descriptors or threads left.
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
    Client::ConnectAsync({.servers = "127.0.0.1:1"}, {kSoon}, [&](const Connected& client) {
      ++answers;
      EXPECT_EQ(client.status().code(), StatusCode::kResourceExhausted);
    });
    EXPECT_EQ(answers, 2) << "at once, since no thread would ever answer";
  });
}

TEST_F(ShortageTest, WithoutAThreadForTheNoticeOfItsEndNoLeaseIsGranted) {
  ForkedChild child([&](Line& line) {
    auto client = Client::Connect({.servers = servers()}, {kSoon});
    ASSERT_TRUE(client.ok()) << client.status();
    AllowNoMoreThreads();
    for (int i = 0; i < 2; ++i) {
      const absl::Status refused = Lock(*client, node_path()).Acquire({kSoon}).status();
      EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted) << refused;
      EXPECT_THAT(std::string(refused.message()),
                  AllOf(HasSubstr(node_path()), HasSubstr("notice of a lease's end")));
    }
    StatusCode answered = StatusCode::kOk;
    Lock(*client, node_path()).AcquireAsync({}, [&](const absl::StatusOr<Lease>& lease) {
      answered = lease.status().code();
    });
    EXPECT_EQ(answered, StatusCode::kResourceExhausted) << "no thread is there to answer either";
    line.Say();
    (void)line.Hear();  // the session is still there
  });
  ASSERT_TRUE(child.line().Hear());
  EXPECT_EQ(Connect()->Do(zk::Get{node_path()}).code, zk::Code::kNoNode) << "not even the parent";
  child.line().Say();
  child.Wait();
}

TEST_F(ShortageTest, ALeaseIsReleasedThoughNoThreadCanSayThatItIs) {
  RunInForkedChild([&] {
    auto client = Client::Connect({.servers = servers()}, {kSoon});
    ASSERT_TRUE(client.ok()) << client.status();
    const Lock lock(*client, node_path());
    auto lease = lock.Acquire({kSoon});
    ASSERT_TRUE(lease.ok()) << lease.status();
    AllowNoMoreThreads();
    StatusCode answered = StatusCode::kOk;
    std::move(*lease).ReleaseAsync(
        {}, [&answered](const absl::Status& released) { answered = released.code(); });
    EXPECT_EQ(answered, StatusCode::kResourceExhausted);
    EXPECT_EQ(lease->state(), Lease::State::kReleased);
    const absl::Status next = lock.Acquire({kSoon}).status();
    EXPECT_EQ(next, absl::OkStatus()) << "not behind the node of before";
  });
}

TEST_F(ShortageTest, AHolderIsNotifiedThoughNoThreadCanBeStartedAnyMore) {
  RunInForkedChild([&] {
    auto client = Client::Connect({.servers = servers()}, {kSoon});
    ASSERT_TRUE(client.ok()) << client.status();
    const auto lease =
        Lock(*client, node_path(), {.hold_at_most = absl::Seconds(1)}).Acquire({kSoon});
    ASSERT_TRUE(lease.ok()) << lease.status();
    std::latch told(1);
    const std::stop_callback on_end(lease->ended(), [&told] { told.count_down(); });
    AllowNoMoreThreads();
    told.wait();
    EXPECT_EQ(lease->state(), Lease::State::kLost);
  });
}

TEST_F(ShortageTest, ANoticeBehindABlockedOneComesOnceAThreadCanBeStarted) {
  RunInForkedChild([&] {
    auto client = Client::Connect({.servers = servers()}, {kSoon});
    ASSERT_TRUE(client.ok()) << client.status();
    std::latch release(1), told(1);
    std::atomic<int> begun = 0;
    const auto block_first = [&] { begun.fetch_add(1) == 0 ? release.wait() : told.count_down(); };
    std::vector<Lease> held;
    std::list<std::stop_callback<std::function<void()>>> notices;
    for (int i = 0; i < 2; ++i) {
      auto lease =
          Lock(*client, absl::StrCat(node_path(), "/", i), {.hold_at_most = absl::Seconds(5)})
              .Acquire({kSoon});
      ASSERT_TRUE(lease.ok()) << lease.status();
      held.push_back(*std::move(lease));
      notices.emplace_back(held.back().ended(), block_first);
    }
    AllowNoMoreThreads();
    for (const Lease& lease : held) {
      EXPECT_TRUE(Eventually([&] { return lease.state() == Lease::State::kLost; }));
    }
    EXPECT_TRUE(Eventually([&] { return begun == 1; }));
    AllowThreadsAgain();
    EXPECT_TRUE(Eventually([&] { return told.try_wait(); }));
    release.count_down();
    told.wait();
  });
}

TEST_F(ShortageTest, CallbacksOfOneClientThatBlockKeepNoNoticeFromAnother) {
  constexpr int kBlocking = 70;  // more than there are threads
  const LockOptions brief{.hold_at_most = absl::Seconds(5)};
  auto one = NewClient();
  auto other = NewClient();
  std::latch release(1);
  std::vector<Lease> held;
  std::list<std::stop_callback<std::function<void()>>> blocking;
  const auto hold = [&](const std::shared_ptr<Client>& client, int i) {
    auto lease = Lock(client, absl::StrCat(node_path(), "/", i), brief).Acquire({kSoon});
    ASSERT_TRUE(lease.ok()) << lease.status();
    held.push_back(*std::move(lease));
  };
  for (int i = 0; i < kBlocking; ++i) {
    hold(one, i);
    // Here, if its end came before this: then it would block the test.
    blocking.emplace_back(held.back().ended(), [&release, main = std::this_thread::get_id()] {
      if (std::this_thread::get_id() != main) release.wait();
    });
  }
  for (const Lease& lease : held) {
    EXPECT_TRUE(Eventually([&] { return lease.state() == Lease::State::kLost; }));
  }
  hold(other, kBlocking);
  std::latch told(1);
  const std::stop_callback on_end(held.back().ended(), [&told] { told.count_down(); });
  EXPECT_TRUE(Eventually([&] { return told.try_wait(); })) << "behind another client's callbacks";
  release.count_down();
  told.wait();
}

}  // namespace
}  // namespace zkrecipes::integration
