// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_LOOP_FIXTURE_H_
#define ZKRECIPES_LIB_ZK_LOOP_LOOP_FIXTURE_H_

#include <sys/types.h>

#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "lib/zk/loop/loop.h"

namespace zkrecipes::zk::loop {

// A thread of this process.
inline bool Sleeps(pid_t thread) {
  std::string line;  // number (name) state ...
  std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat"), line);
  return line.find(") S") != std::string::npos;
}

class LoopTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loop = internal::Loop::Start(/*longest_wait=*/absl::Hours(1));
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
  }
  void TearDown() override { loop_->Stop(); }

  // Runs `task` on the loop; returns what it returns.
  template <typename F>
  auto OnLoop(F task) -> decltype(task()) {
    auto ran = std::make_shared<std::packaged_task<decltype(task())()>>(std::move(task));
    loop_->Post([ran] { (*ran)(); });
    return ran->get_future().get();
  }

  // The loop's thread may be in the middle of a round, for a moment.
  void TakeOver() {
    while (!loop_->TakeOver()) std::this_thread::yield();
  }
  // REQUIRES: the turn. Asks the loop, and runs it until it has answered.
  std::thread::id Ask() {
    std::thread::id answer;
    loop_->Post([&answer] { answer = std::this_thread::get_id(); });
    const auto answered = [&answer] { return answer != std::thread::id(); };
    loop_->RunUntil(answered, base::BootTime::InfiniteFuture());
    return answer;
  }

  std::shared_ptr<internal::Loop> loop_;
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_LOOP_FIXTURE_H_
