// SPDX-License-Identifier: Apache-2.0

#include "integration/two_worlds/world_fixture.h"

#include <algorithm>
#include <utility>

#include "zkrecipes/leader_election.h"
#include "zkrecipes/semaphore.h"

namespace zkrecipes::integration {

std::string Number(const std::string& node) { return node.substr(node.size() - 10); }

std::shared_ptr<Client> WorldTest::NewClient(ClientOptions options) {
  if (options.session_timeout == ClientOptions().session_timeout) {
    options.session_timeout = session_timeout_;
  }
  auto client = world().Connect(std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

absl::StatusOr<Lease> WorldTest::Answer(Pending& pending) {
  if (!world().Await([&] { return pending.answered(); })) return absl::InternalError("no answer");
  return pending.Get();
}

Lease WorldTest::Granted(Pending& pending) {
  absl::StatusOr<Lease> lease = Answer(pending);
  EXPECT_TRUE(lease.ok()) << lease.status();
  return *std::move(lease);
}

Lease WorldTest::Acquired(const std::shared_ptr<Client>& client, const std::string& path) {
  Pending pending(client, path);
  return Granted(pending);
}

Pending WorldTest::Queued(Pending pending, size_t place) {
  EXPECT_TRUE(AwaitQueue(place));
  return pending;
}

Pending RecipeTest::Ask(const std::shared_ptr<Client>& client, WaitOptions wait) {
  switch (GetParam()) {
    case Recipe::kLock:
      break;
    case Recipe::kElection:
      return Pending(LeaderElection(client, path()), std::move(wait));
    case Recipe::kSemaphore:
      return Pending([&](Pending::Done done) {
        Semaphore(client, path(), 1).AcquireAsync(std::move(wait), std::move(done));
      });
  }
  return WorldTest::Ask(client, std::move(wait));
}

absl::StatusOr<Lease> RecipeTest::Try(const std::shared_ptr<Client>& client) {
  switch (GetParam()) {
    case Recipe::kLock:
      break;
    case Recipe::kElection:
      return LeaderElection(client, path()).TryCampaign();
    case Recipe::kSemaphore:
      return Semaphore(client, path(), 1).TryAcquire();
  }
  return Lock(client, path()).TryAcquire();
}

std::string NameOf(const ::testing::TestParamInfo<Recipe>& test) {
  constexpr const char* kNames[] = {"Lock", "Election", "Semaphore"};
  return kNames[static_cast<size_t>(test.param)];
}

std::vector<std::string> WorldTest::Queue() {
  std::vector<std::string> nodes = world().Paths(path());
  std::erase(nodes, path() + "/zkrecipes-holder");
  std::sort(nodes.begin(), nodes.end(),
            [](const auto& a, const auto& b) { return Number(a) < Number(b); });
  return nodes;
}

bool WorldTest::AwaitQueue(size_t size) {
  return world().Await([&] { return Queue().size() == size; });
}

bool WorldTest::AwaitWatches(int64_t number) {
  return world().Await([&] { return world().Watches() == number; });
}

bool WorldTest::AwaitState(const Lease& lease, Lease::State state) {
  return world().Await([&] { return lease.state() == state; });
}

void WorldTest::ExpectLost(Lease lease, const std::string& why) {
  EXPECT_TRUE(world().Await([&] { return lease.ended().stop_requested(); }));
  EXPECT_EQ(lease.state(), Lease::State::kLost);
  EXPECT_EQ(lease.remaining(), absl::ZeroDuration());
  const absl::Status released = std::move(lease).Release();
  EXPECT_EQ(released.code(), absl::StatusCode::kAborted) << released;
  EXPECT_THAT(std::string(released.message()), ::testing::HasSubstr(why));
}

}  // namespace zkrecipes::integration
