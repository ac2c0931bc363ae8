// SPDX-License-Identifier: Apache-2.0
//
// Waits for a lock that are hard to time on real servers.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kPath[] = "/locks/ledger";

// Everything happens inside the calls below.
class WaitInMemoryTest : public ::testing::Test {
 protected:
  struct Attempt {
    std::shared_ptr<Client> client;
    std::optional<absl::StatusOr<Lease>> answer{};

    absl::StatusCode code() const { return answer->status().code(); }
    Lease& lease() { return **answer; }
  };

  std::shared_ptr<Client> Connect() { return *ensemble_.Connect(); }

  std::unique_ptr<Attempt> Acquire(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    auto attempt = std::make_unique<Attempt>(Attempt{client});
    Lock(client, kPath).AcquireAsync(std::move(wait), [a = attempt.get()](auto lease) {
      a->answer.emplace(std::move(lease));
    });
    ensemble_.RunUntilIdle();
    return attempt;
  }
  std::unique_ptr<Attempt> Acquire(WaitOptions wait = {}) {
    return Acquire(Connect(), std::move(wait));
  }

  InMemoryEnsemble ensemble_{{.manual = true}};
};

TEST_F(WaitInMemoryTest, AnAcquireAndAHandOverTakeNoTime) {
  auto first = Acquire();
  ASSERT_TRUE(first->answer.has_value());
  auto second = Acquire();
  first->answer.reset();
  ensemble_.RunUntilIdle();
  EXPECT_TRUE(second->answer.has_value());
  EXPECT_EQ(ensemble_.Elapsed(), absl::ZeroDuration());
}

TEST_F(WaitInMemoryTest, ATimeoutRunsOnceHoweverOftenTheWaiterIsWoken) {
  auto holder = Acquire();
  std::vector<std::unique_ptr<Attempt>> before;
  for (int i = 0; i < 4; ++i) before.push_back(Acquire());
  auto waiter = Acquire({absl::Milliseconds(4500)});
  for (; !before.empty(); before.pop_back()) {  // each was next to the waiter
    before.back()->client.reset();
    ensemble_.Advance(absl::Seconds(1));
    ASSERT_FALSE(waiter->answer.has_value());
  }
  ensemble_.Advance(absl::Milliseconds(499));
  ASSERT_FALSE(waiter->answer.has_value());
  ensemble_.Advance(absl::Milliseconds(1));
  ASSERT_TRUE(waiter->answer.has_value());
  EXPECT_EQ(waiter->code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(WaitInMemoryTest, ATimeoutRunsOnThroughReconnectsAndNewSessions) {
  auto holder = Acquire();
  auto waiter = Acquire({absl::Milliseconds(4500)});
  for (int i = 0; i < 2; ++i) {
    ensemble_.Disconnect(*waiter->client);
    ensemble_.Advance(absl::Seconds(1));
    ensemble_.Reconnect(*waiter->client);
    ensemble_.Expire(*waiter->client);
    ensemble_.Advance(absl::Seconds(1));
    ASSERT_THAT(ensemble_.Paths(kPath), SizeIs(2));
  }
  ensemble_.Advance(absl::Milliseconds(499));
  ASSERT_FALSE(waiter->answer.has_value());
  ensemble_.Advance(absl::Milliseconds(1));
  ASSERT_TRUE(waiter->answer.has_value());
  EXPECT_EQ(waiter->code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(WaitInMemoryTest, TheTimeOfAPauseCounts) {
  auto holder = Acquire();
  auto waiter = Acquire({absl::Seconds(5)});
  ensemble_.Pause(*waiter->client);
  ensemble_.Advance(absl::Seconds(5));
  EXPECT_FALSE(waiter->answer.has_value());
  ensemble_.Resume(*waiter->client);
  ASSERT_TRUE(waiter->answer.has_value());
  EXPECT_EQ(waiter->code(), absl::StatusCode::kDeadlineExceeded);
}

// It hears of its predecessor's end before it hears of its own.
TEST_F(WaitInMemoryTest, AFrozenWaiterIsNotGrantedByANodeThatWentWithItsSession) {
  auto holder = Acquire();
  auto waiter = Acquire();
  const std::string node = ensemble_.Paths(kPath).back();
  auto next = Acquire();
  ensemble_.Pause(*waiter->client);
  holder->answer.reset();
  ensemble_.Expire(*waiter->client);
  ASSERT_TRUE(next->answer.has_value());
  ensemble_.Resume(*waiter->client);
  EXPECT_FALSE(waiter->answer.has_value());
  ensemble_.Advance(absl::Seconds(1));
  EXPECT_FALSE(waiter->answer.has_value());
  const FencingToken token = next->lease().token();
  next->answer.reset();
  ensemble_.RunUntilIdle();
  ASSERT_TRUE(waiter->answer.has_value());
  EXPECT_NE(waiter->lease().node(), node);
  EXPECT_GT(waiter->lease().token(), token);
}

TEST_F(WaitInMemoryTest, AFrozenHolderIsToldInItsFirstCallAndHasTheSmallerToken) {
  auto holder = Acquire();
  auto waiter = Acquire();
  ensemble_.Pause(*holder->client);
  ensemble_.Advance(absl::Seconds(30));
  ASSERT_TRUE(waiter->answer.has_value());
  EXPECT_EQ(holder->lease().state(), Lease::State::kLost);
  EXPECT_LT(holder->lease().token(), waiter->lease().token());
}

TEST_F(WaitInMemoryTest, AWaiterOfAReapedParentMakesItAgain) {
  auto first = Acquire();
  first->answer.reset();
  ensemble_.Advance(absl::Minutes(2));
  ASSERT_THAT(ensemble_.Paths(), IsEmpty());
  auto second = Acquire(first->client);
  ASSERT_TRUE(second->answer.has_value());
  EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(1));
}

}  // namespace
}  // namespace zkrecipes::testing
