// SPDX-License-Identifier: Apache-2.0
//
// A client with many leases that end at once.

#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/base/executor_fixture.h"
#include "lib/session/client/client_core.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::HasSubstr;

// Leases of one client on many locks, each with a callback for its loss.
class ManyLeasesTest : public LockInMemoryTest {
 protected:
  static constexpr int kLeases = 100;

  void SetUp() override { memory::Start(simulation_, user_, {.executor = executor_}); }
  void AcquireAll(const LockOptions& options = {}) {
    for (int i = 0; i < kLeases; ++i) {
      Lock(user_.client, absl::StrCat("/many/", i), options)
          .AcquireAsync({}, [this](absl::StatusOr<Lease> lease) {
            leases_.push_back(*std::move(lease));
            callbacks_.emplace_back(leases_.back().ended(), [this] { ++told_; });
          });
    }
    simulation_.RunUntilIdle();
    executor_->RunAll();
    ASSERT_THAT(leases_, ::testing::SizeIs(kLeases));
    tasks_before_ = executor_->given();
  }
  // The second task stands by for a callback that blocks.
  void ExpectAllToldByOneTask() {
    EXPECT_EQ(told_, 0);
    EXPECT_EQ(executor_->given(), tasks_before_ + 1);
    executor_->RunNext();
    EXPECT_EQ(told_, kLeases);
    executor_->RunAll();
    PassTime(absl::Minutes(1));
    EXPECT_EQ(executor_->given(), tasks_before_ + 2);
    EXPECT_EQ(told_, kLeases);
  }
  void ExpectReason(const char* why) {
    EXPECT_THAT(std::string(std::move(leases_[7]).Release().message()), HasSubstr(why));
  }

  const std::shared_ptr<base::StepExecutor> executor_ = std::make_shared<base::StepExecutor>();
  LockUser user_;
  std::vector<Lease> leases_;
  int told_ = 0;
  std::deque<std::stop_callback<std::function<void()>>> callbacks_;
  int tasks_before_ = 0;
};

TEST_F(ManyLeasesTest, ThatLapseAtOnceAreToldByOneTask) {
  AcquireAll();
  user_.host->set_network(Host::Network::kSilent);
  PassTime(leases_[0].remaining());
  ExpectAllToldByOneTask();
  ExpectReason("could not be proven");
}

TEST_F(ManyLeasesTest, ThatExpireWithTheirSessionAreToldByOneTask) {
  AcquireAll();
  Expire(user_);
  PassTime(absl::Seconds(2));
  ExpectAllToldByOneTask();
  ExpectReason("its session expired");
}

TEST_F(ManyLeasesTest, OfLockDelayModeThatEndAtOnceAreToldByOneTask) {
  AcquireAll({.lock_delay = absl::Seconds(4)});
  user_.host->set_network(Host::Network::kSilent);
  PassTime(leases_[0].remaining());
  ExpectAllToldByOneTask();
}

TEST_F(ManyLeasesTest, WhoseClientIsClosedAreToldByOneTask) {
  AcquireAll();
  internal::ClientAccess::Core(*user_.client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  PassTime(absl::Seconds(1));
  ExpectAllToldByOneTask();
  ExpectReason("the client was closed");
}

}  // namespace
}  // namespace zkrecipes::testing::memory
