// SPDX-License-Identifier: Apache-2.0
//
// An upgrade that begins when its session has ended.

#include <optional>
#include <utility>

#include "gmock/gmock.h"

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/lease/lease_state.h"
#include "recipes/lock_fixture.h"

namespace zkrecipes::testing::memory {
namespace {

using queue::machine::Candidacy;

class ChangeInMemoryTest : public LockInMemoryTest {
 protected:
  static void Ask(LockUser& process, const Candidacy& candidacy,
                  std::optional<queue::acquire::Answer>& answer) {
    queue::call::Begin(
        queue::acquire::Enter(internal::PathQueue::Of(*process.client, kPath), candidacy), {},
        [&](queue::acquire::Answer a) { answer.emplace(std::move(a)); });
  }
};

TEST_F(ChangeInMemoryTest, AnUpgradeThatBeginsBetweenTwoSessionsEnds) {
  auto process = Start();
  std::optional<queue::acquire::Answer> reading;
  std::optional<queue::acquire::Answer> writing;
  Ask(*process, {.mode = queue::machine::Mode::kShared}, reading);
  simulation_.RunUntilIdle();
  ASSERT_TRUE(reading.has_value() && reading->ok());
  const Lease shared = **std::move(reading);
  const auto upgrade = queue::acquire::GoingOnFrom(
      *internal::PathQueue::Of(*process->client, kPath),
      internal::LeaseMaker::StateOf(shared).get(), queue::machine::Mode::kShared,
      {.mode = queue::machine::Mode::kSharedWriter});
  ASSERT_TRUE(upgrade.ok());

  // It joins when the session has gone, and the next one is not there yet.
  const Subscription subscription = process->client->OnStateChange([&](ClientState state) {
    if (state == ClientState::kExpired) Ask(*process, *upgrade, writing);
  });
  ASSERT_TRUE(model().Expire(process->client->session_id(), simulation_.now()));
  PassTime(absl::Seconds(5));
  ASSERT_TRUE(writing.has_value());
  EXPECT_EQ(writing->status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
