// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_LOCK_FIXTURE_H_
#define ZKRECIPES_RECIPES_LOCK_FIXTURE_H_

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "testing/memory/simulation.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::testing::memory {

inline constexpr char kPath[] = "/locks/q";

// A process with a client and at most one attempt at the lock.
struct LockUser {
  std::shared_ptr<Host> host;
  std::shared_ptr<Client> client;
  LockOptions lock_options;
  std::optional<absl::StatusOr<Lease>> result;
  int answers = 0;

  void Acquire(WaitOptions wait = {}) {
    Lock(client, kPath, lock_options)
        .AcquireAsync(std::move(wait), [this](absl::StatusOr<Lease> lease) {
          ++answers;
          result.emplace(std::move(lease));
        });
  }
  bool holds() const { return result && result->ok() && (*result)->state() == Lease::State::kHeld; }
  Lease& lease() { return **result; }
  absl::StatusCode code() const { return result->status().code(); }
};

// Gives `user` a process and a connected client.
void Start(Simulation& simulation, LockUser& user, ClientOptions options = {});

// Its connection is lost, and what it sent and no server has read yet is never executed.
inline void LoseConnectionAndRequests(Simulation& simulation, Host& host) {
  for (const ConnectionId id : simulation.ensemble().connections()) {
    if (host.Owns(id)) simulation.ensemble().DropUnread(id);
  }
  host.BreakConnections();
}

// The lock that ships, on the ensemble in memory.
class LockInMemoryTest : public ::testing::Test {
 protected:
  std::unique_ptr<LockUser> Start() {
    auto user = std::make_unique<LockUser>();
    memory::Start(simulation_, *user);
    return user;
  }
  std::unique_ptr<LockUser> StartWaiter(WaitOptions wait = {}) {
    auto user = Start();
    Acquire(*user, std::move(wait));
    return user;
  }
  std::unique_ptr<LockUser> StartHolder() {
    auto user = StartWaiter();
    EXPECT_TRUE(user->holds());
    return user;
  }

  // Each with all that needs no time.
  void Acquire(LockUser& user, WaitOptions wait = {}) {
    user.Acquire(std::move(wait));
    simulation_.RunUntilIdle();
  }
  void Release(LockUser& user) {
    user.result.reset();
    simulation_.RunUntilIdle();
  }

  // A namespace and paths so long that one session has room for about five hundred that hold.
  static std::string LongNamespace() { return "/" + std::string(450, 'n'); }
  static std::string LongPath(int number) {
    return absl::StrCat("/", std::string(500, 'x'), "/", number);
  }
  // The answers to one attempt at each of the first `count` long paths, within a minute.
  std::vector<absl::StatusOr<Lease>> AcquireAll(const std::shared_ptr<Client>& client, int count) {
    std::vector<absl::StatusOr<Lease>> answers;
    for (int i = 0; i < count; ++i) {
      Lock(client, LongPath(i)).AcquireAsync({}, [&answers](absl::StatusOr<Lease> lease) {
        answers.push_back(std::move(lease));
      });
      simulation_.RunUntilIdle();
    }
    const auto all = static_cast<size_t>(count);
    for (int i = 0; i < 60 && answers.size() < all; ++i) PassTime(absl::Seconds(1));
    EXPECT_EQ(answers.size(), all);
    return answers;
  }

  std::vector<std::string> Queue() { return model().committed().Children(kPath); }
  ModelEnsemble& model() { return simulation_.ensemble(); }
  void PassTime(absl::Duration d) { simulation_.RunUntil(simulation_.now() + d); }
  void Expire(const LockUser& user) {
    EXPECT_TRUE(model().Expire(user.client->session_id(), simulation_.now()));
  }
  // One that may be next; time goes on where nothing else can happen, and now and then besides.
  void RunAnyStep(std::mt19937& random) {
    std::vector<Step> steps;
    simulation_.ListSteps(steps);
    const bool advances = !steps.empty() && steps.back().kind == Step::Kind::kAdvance;
    if (advances && steps.size() > 1 && random() % 20 != 0) steps.pop_back();
    if (!steps.empty()) simulation_.Run(steps[random() % steps.size()]);
  }
  void RunFirstStep() {
    std::vector<Step> steps;
    simulation_.ListSteps(steps);
    if (!steps.empty()) simulation_.Run(steps.front());
  }
  // Once quiet: no node and no watch is left.
  void ExpectNothingLeft() {
    PassTime(absl::Minutes(1));
    EXPECT_THAT(Queue(), ::testing::IsEmpty());
    EXPECT_EQ(model().watches(), 0u);
  }

  Simulation simulation_;
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_LOCK_FIXTURE_H_
