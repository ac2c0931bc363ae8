// SPDX-License-Identifier: Apache-2.0
//
// A service that waits for a lock for a bounded time, and then answers that it is busy; and the tests
// that it gives up in time, that a late grant is still one.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

// Answers requests for reports, which are made one at a time.
class Reports {
 public:
  explicit Reports(std::shared_ptr<zkrecipes::Client> client)
      : lock_(std::move(client), "/locks/reports") {}

  std::string Answer() const {
    const auto lease = lock_.Acquire({absl::Seconds(30)});
    if (lease.ok()) return "200";
    return absl::IsDeadlineExceeded(lease.status()) ? "503, try later" : "500";
  }

 private:
  const zkrecipes::Lock lock_;
};

class ReportsTest : public testing::Test {
 protected:
  // What a request gets, if the ensemble's time goes on meanwhile.
  std::string Request() {
    std::string answer;
    std::atomic<bool> answered = false;
    std::jthread request([&] {
      answer = Reports(client_).Answer();
      answered = true;
    });
    EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return answered.load(); }));
    return answer;
  }

  zkrecipes::testing::InMemoryEnsemble ensemble_;
  std::shared_ptr<zkrecipes::Client> client_ = *ensemble_.Connect();
  std::shared_ptr<zkrecipes::Client> other_ = *ensemble_.Connect();
};

TEST_F(ReportsTest, SayTheyAreBusyAfterHalfAMinute) {
  const zkrecipes::Lease held = *zkrecipes::Lock(other_, "/locks/reports").Acquire();
  EXPECT_EQ(Request(), "503, try later");
  EXPECT_GE(ensemble_.Elapsed(), absl::Seconds(30));
}

TEST_F(ReportsTest, AreMadeOnceTheOtherHasGone) {
  const zkrecipes::Lease held = *zkrecipes::Lock(other_, "/locks/reports").Acquire();
  ensemble_.Silence(*other_);  // its process is dead, and its session has to expire first
  EXPECT_EQ(Request(), "200");
}

}  // namespace
