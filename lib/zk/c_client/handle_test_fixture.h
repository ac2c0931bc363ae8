// SPDX-License-Identifier: Apache-2.0
//
// A handle of the C client on a test's thread, with servers that the test plays.

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_HANDLE_TEST_FIXTURE_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_HANDLE_TEST_FIXTURE_H_

#include <poll.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "lib/zk/c_client/handle_driver_fixture.h"
#include "lib/zk/seam/handle.h"

namespace zkrecipes::zk::c_client {

// Keeps what the handle has said.
struct Diary : HandleListener {
  void OnConnected(SessionId id, absl::Duration, base::BootTime) override {
    session = id;
    ++connected;
  }
  void OnDisconnected(int attempt) override {
    attempts.push_back(attempt);
    on_disconnected();
  }
  void OnServerFailed(const std::string& server, const ServerFailure& failure) override {
    failures.push_back(absl::StrCat(server, " ", failure.what));
    causes.push_back(failure.cause);
  }
  void OnTrouble(const absl::Status& why) override { failures.emplace_back(why.message()); }
  void OnEnded(Code code) override { ended = code; }
  void OnWatch(const std::string& path, WatchEvent) override { watches.push_back(path); }

  SessionId session = 0;
  int connected = 0;
  std::vector<int> attempts;
  std::vector<std::string> failures, watches;
  std::vector<NoConnection> causes;  // of the failures of servers
  std::optional<Code> ended;
  std::function<void()> on_disconnected = [] {};
};

class HandleTest : public testing::Test {
 protected:
  void TearDown() override {
    if (handle_ != nullptr) handle_->Close();
  }
  void Open(const HandleOptions& options) {
    auto handle = driver_.Open(options, &diary_);
    ASSERT_TRUE(handle.ok()) << handle.status();
    handle_ = *std::move(handle);
  }
  // In this order.
  void Open(const NumericServers& servers, std::vector<std::string> credentials = {}) {
    HandleOptions options;
    options.servers = servers;
    options.digest_credentials = base::TakeSecrets(credentials);
    Open(options);
  }
  // False: it takes more rounds than anything here does.
  bool RunUntil(const std::function<bool()>& done, int rounds = 5000) {
    for (int i = 0; i < rounds && !done(); ++i) driver_.Round();
    return done();
  }
  bool RunUntilConnected(int times = 1) {
    return RunUntil([&] { return diary_.connected >= times; });
  }
  bool RunUntilFailed(size_t times = 1) {
    return RunUntil([&] { return diary_.failures.size() >= times; });
  }
  void RunFor(absl::Duration time) {
    const base::BootTime end = driver_.Now() + time;
    RunUntil([&] { return driver_.Now() >= end; }, 100'000);
  }
  Reply Ask(const Request& request) {
    std::optional<Reply> reply;
    handle_->Send(request, [&reply](const Reply& r) { reply = r; });
    EXPECT_TRUE(RunUntil([&] { return reply.has_value(); }));
    return reply.value_or(Reply{.code = Code::kSystemError});
  }
  Code CodeOf(const Request& request) { return Ask(request).code; }

  std::vector<std::function<void()>> steps_;  // of the servers, before each poll
  int ready_ = 0;                             // polls that reported something
  Diary diary_;
  HandleDriver driver_{[this](int fd, short events) {
    for (const auto& step : steps_) step();
    pollfd one{fd, events, 0};
    if (poll(&one, 1, /*timeout=*/1) > 0) ++ready_;
    return one.revents;
  }};
  std::unique_ptr<Handle> handle_;
};

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_HANDLE_TEST_FIXTURE_H_
