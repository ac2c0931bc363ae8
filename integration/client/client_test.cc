// SPDX-License-Identifier: Apache-2.0
//
// A client's beginning and its end.

#include "zkrecipes/client.h"

#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/recording_executor.h"
#include "integration/fixtures/silent_server.h"
#include "integration/fixtures/stall.h"
#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"
#include "lib/zk/c_client/scripted_server_fixture.h"
#include "testing/local/server_files.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/log_listener.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Connected = absl::StatusOr<std::shared_ptr<Client>>;

class ClientConnectTest : public ClientTest {
 protected:
  static std::string Message(const Connected& client) {
    return std::string(client.status().message());
  }
  // On a machine that stands still until the patience ends, there is no attempt to tell of.
  static Connected ConnectUndisturbed(const std::string& servers, absl::Duration patience) {
    return Undisturbed([&] { return Client::Connect({.servers = servers}, {patience}); });
  }
};

TEST_F(ClientConnectTest, BadOptionsAreRefusedBeforeAnyNetworkUse) {
  const SilentServer server;
  struct Case {  // one of each kind: client_options_test has them all
    ClientOptions options;
    std::string message;
  };
  const std::string at = server.address();
  const std::vector<Case> cases = {
      {{.servers = ""}, "server list \"\": must name"},
      {{.servers = at + ","}, "part 2"},
      {{.servers = at + "/a//b"}, "namespace \"/a//b\": must not have an empty"},
      {{.servers = at, .session_timeout = -absl::Seconds(1)}, "session timeout \"-1s\""},
      {{.servers = at, .digest_credentials = {"no-colon"}}, "digest credentials"},
      {{.servers = at, .acl = CreatorOnlyAcl()}, "needs digest credentials"},
      {{.servers = at, .acl = {}}, "acl: must not be empty"},
      {{.servers = at, .owner_id = std::string(513, 'x')}, "owner id of 513 bytes"},
  };
  for (const Case& c : cases) {
    const Connected client = Client::Connect(c.options, {kSoon});
    EXPECT_EQ(client.status().code(), StatusCode::kInvalidArgument) << client.status();
    EXPECT_THAT(Message(client), HasSubstr(c.message));
  }
  const Connected negative = Client::Connect({.servers = at}, {-absl::Seconds(1)});
  EXPECT_EQ(negative.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(negative), HasSubstr("timeout \"-1s\""));
  EXPECT_FALSE(server.WasConnectedTo());
}

TEST_F(ClientConnectTest, WithoutAnEnsembleItIsUnavailableAndSaysWhatWasTried) {
  const SilentServer silent;
  const std::tuple<std::string, absl::Duration, std::string> cases[] = {
      {"127.0.0.1:1", absl::Seconds(2),
       "no session within 2s (127.0.0.1:1 refused the connection)"},
      {silent.address(), absl::Milliseconds(300),
       "no session within 300ms (no server has answered yet)"}};
  for (const auto& [server, patience, why] : cases) {
    const Connected client = ConnectUndisturbed(server, patience);
    EXPECT_EQ(client.status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(Message(client), absl::StrCat("connect to ", server, ": ", why));
  }
  const Connected hasty = Client::Connect({.servers = silent.address()}, {absl::ZeroDuration()});
  EXPECT_EQ(hasty.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(hasty), ::testing::Not(HasSubstr("()"))) << "a reason is given";
}

// Greets whoever connects, and hears nothing.
class MailServer {
 public:
  const std::string greeting = "220 mail.example.org ESMTP Postfix (but no ZooKeeper)\r\n";
  const std::string& address() const { return address_; }

 private:
  zk::c_client::ScriptedServer server_{[](int, const std::string&) { return ""; }, greeting};
  const std::string address_ = server_.address();
  const std::jthread serving_{[this](const std::stop_token& stop) {
    for (; !stop.stop_requested(); absl::SleepFor(absl::Milliseconds(1))) server_.Step();
  }};
};

TEST_F(ClientConnectTest, AServerThatDoesNotSpeakZooKeeperIsNamedWithWhatItSays) {
  const MailServer mail;
  const Connected client = ConnectUndisturbed(mail.address(), absl::Seconds(2));
  EXPECT_EQ(client.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Message(client), absl::StrCat("connect to ", mail.address(), ": no session within 2s (",
                                          mail.address(), " does not speak ZooKeeper: it says \"",
                                          mail.greeting.substr(0, 32), "\")"));
}

TEST_F(ClientConnectTest, AServerThatDoesNotSpeakZooKeeperDoesNotHideTheOthers) {
  const MailServer mail;
  for (int i = 0; i < 5; ++i) {  // in one order or another
    const Connected client =
        Client::Connect({.servers = absl::StrCat(mail.address(), ",", servers())}, {kSoon});
    EXPECT_TRUE(client.ok()) << client.status();
  }
}

TEST_F(ClientConnectTest, ACancelledConnectSaysSo) {
  const SilentServer silent;
  std::stop_source stop;
  const std::jthread later([&] {
    while (!silent.WasConnectedTo()) absl::SleepFor(absl::Milliseconds(5));
    stop.request_stop();
  });
  const Connected client =
      Client::Connect({.servers = silent.address()}, {kSoon, stop.get_token()});
  EXPECT_EQ(client.status().code(), StatusCode::kCancelled) << client.status();
  const Connected never = Client::Connect({.servers = servers()}, {kSoon, stop.get_token()});
  EXPECT_EQ(never.status().code(), StatusCode::kCancelled) << never.status();
}

TEST_F(ClientConnectTest, AnAsynchronousConnectAnswersOnceOnTheExecutor) {
  auto executor = std::make_shared<RecordingExecutor>();
  base::OneShot<bool> blocked;
  executor->Execute([&] { blocked.Take(base::BootNow() + kSoon); });
  std::atomic<int> good = 0, bad = 0, elsewhere = 0;
  const auto count = [&](const Connected& client) {
    if (!executor->IsThisThread()) ++elsewhere;
    ++(client.ok() ? good : bad);
  };
  Client::ConnectAsync({.servers = servers(), .executor = executor}, {kSoon}, count);
  Client::ConnectAsync({.servers = "zk:no-port", .executor = executor}, {kSoon}, count);
  Client::ConnectAsync({.servers = servers(), .executor = executor}, {-kSoon}, count);
  EXPECT_TRUE(Eventually([&] { return executor->tasks() >= 4; }));
  EXPECT_EQ(good + bad, 0);
  blocked.Set(true);
  EXPECT_TRUE(Eventually([&] { return good == 1 && bad == 2; }));
  EXPECT_EQ(elsewhere, 0);
}

bool IsDeaf() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return sigismember(&mask, SIGTERM) == 1;
}

// This process's threads that a SIGTERM may come to.
std::set<std::string> ThreadsThatHearSigterm() {
  std::set<std::string> hear;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("SigBlk:", 0) != 0) continue;
      const bool deaf = (std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1)) & 1;
      if (!deaf) hear.insert(task.path().filename());
    }
  }
  return hear;
}

TEST_F(ClientConnectTest, AnAsynchronousConnectLeavesSignalsToTheProgramAndItsCallbacks) {
  ASSERT_FALSE(IsDeaf());
  const std::set<std::string> before = ThreadsThatHearSigterm();
  SilentServer silent;
  std::stop_source stop;
  base::OneShot<bool> deaf;
  Client::ConnectAsync({.servers = silent.address()}, {kSoon, stop.get_token()},
                       [&](const Connected&) { deaf.Set(IsDeaf()); });
  EXPECT_TRUE(Eventually([&] { return silent.WasConnectedTo(); }));
  for (const std::string& thread : ThreadsThatHearSigterm()) EXPECT_TRUE(before.contains(thread));
  stop.request_stop();
  EXPECT_EQ(deaf.Take(base::BootNow() + kSoon), false);

  base::OneShot<std::shared_ptr<Client>> connected;
  Client::ConnectAsync({.servers = servers()}, {kSoon},
                       [&](const Connected& client) { connected.Set(*client); });
  const auto client = connected.Take(base::BootNow() + kSoon);
  ASSERT_TRUE(client.has_value());
  base::OneShot<bool> deaf_later;
  const Subscription states =
      (*client)->OnStateChange([&](ClientState) { deaf_later.Set(IsDeaf()); });
  EXPECT_EQ(deaf_later.Take(base::BootNow() + kSoon), false);
}

class ClientCreateTest : public ClientTest {};

TEST_F(ClientCreateTest, AClientMayBeThereBeforeItsEnsemble) {
  const int port = testing::FreePorts(1)->front();
  const std::string at = absl::StrCat("127.0.0.1:", port);
  const auto client = Client::Create({.servers = at});
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ((*client)->session_id(), 0);
  EXPECT_EQ((*client)->session_timeout(), absl::Seconds(10));
  // Each wait is counted from its own beginning.
  EXPECT_FALSE(Lock(*client, "/q").Acquire({absl::Milliseconds(50)}).ok());
  Pending waiter(*client, "/q");
  const auto servers = testing::LocalEnsemble::Start({.servers = 1, .first_port = port});
  ASSERT_TRUE(servers.ok()) << servers.status();
  EXPECT_TRUE(waiter.Get().ok());
  EXPECT_EQ((*client)->Close({kSoon}), absl::OkStatus());
}

// Of one that is created in the background nothing else would ever be heard.
TEST_F(ClientCreateTest, AListThatNamesNoServerIsReportedWithItsCausesInLogAndReports) {
  const MailServer mail;
  const std::string misspelt = "zk1.misspelt.invalid:2181";
  struct Heard {  // calls may come after the test
    base::Mutex mutex;
    std::optional<SessionReport> report ABSL_GUARDED_BY(mutex);
    std::string line ABSL_GUARDED_BY(mutex);
  };
  const auto heard = std::make_shared<Heard>();
  const auto log = std::make_shared<LogListener>(LogOptions{.sink = [heard](const LogRecord& r) {
    base::MutexLock lock(heard->mutex);
    if (r.event == LogEvent::kNoConnection) heard->line = ToText(r);
  }});
  const auto client = Client::Create(
      {.servers = absl::StrCat(misspelt, ",", mail.address()),
       .session_timeout = absl::Seconds(1),
       .listener = log,
       .on_session_report = [heard, to_log = log->SessionReports()](const SessionReport& report) {
         {
           base::MutexLock lock(heard->mutex);
           heard->report = report;
         }
         to_log(report);
       }});
  ASSERT_TRUE(client.ok()) << client.status();
  // The name server may be slow: then the first report knows less.
  EXPECT_TRUE(Eventually([&heard] {
    base::MutexLock lock(heard->mutex);
    return absl::StrContains(heard->line, "could not be resolved") &&
           absl::StrContains(heard->line, "does not speak ZooKeeper");
  }));
  EXPECT_EQ((*client)->Close({kSoon}), absl::OkStatus());
  base::MutexLock lock(heard->mutex);
  ASSERT_TRUE(heard->report.has_value());
  EXPECT_THAT(heard->report->causes,
              ElementsAre(NoConnection::kNameNotFound, NoConnection::kNotZooKeeper));
  EXPECT_THAT(heard->report->trouble,
              HasSubstr(absl::StrCat(misspelt, " could not be resolved (")));
  EXPECT_THAT(
      heard->report->trouble,
      HasSubstr(absl::StrCat(mail.address(), " does not speak ZooKeeper: it says \"220 mail")));
  EXPECT_GE(heard->report->cut_off, absl::Seconds(1));
}

TEST_F(ClientCreateTest, AClientThatNeverConnectedIsClosedAtOnce) {
  const int port = testing::FreePorts(1)->front();
  const auto client = Client::Create({.servers = absl::StrCat("127.0.0.1:", port)});
  ASSERT_TRUE(client.ok()) << client.status();
  Pending waiter(*client, "/q");
  EXPECT_EQ((*client)->Close({kSoon}), absl::OkStatus());
  EXPECT_EQ(waiter.Get().status().code(), StatusCode::kFailedPrecondition);
}

class ClientCloseTest : public ClientTest {};

TEST_F(ClientCloseTest, MayBeCalledTwiceAndFromSeveralThreads) {
  auto client = NewClient();
  const Lease lease = Acquired(client);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(client->Close({kSoon}), absl::OkStatus()); });
  }
  threads.clear();
  EXPECT_EQ(client->Close({kSoon}), absl::OkStatus());
}

TEST_F(ClientCloseTest, GoesOnInTheBackgroundIfItIsNotConfirmedInTime) {
  auto client = NewClient();
  auto observer = NewClient();
  Pending waiter(client, node_path());
  ASSERT_TRUE(AwaitQueue(*observer, 1));
  std::stop_source stop;
  stop.request_stop();
  const absl::Status closed = client->Close({kSoon, stop.get_token()});
  EXPECT_EQ(closed.code(), StatusCode::kCancelled) << closed;
  EXPECT_TRUE(AwaitQueue(*observer, 0));
  EXPECT_EQ(client->Close({kSoon}), absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes::integration
