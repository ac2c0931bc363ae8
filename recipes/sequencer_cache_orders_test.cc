// SPDX-License-Identifier: Apache-2.0
//
// A cache of sequencers in any order of messages, timers and faults: each answer is compared with what
// the quorum knew, and when.

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "recipes/lock_fixture.h"
#include "zkrecipes/sequencer_cache.h"

namespace zkrecipes::testing::memory {
namespace {

constexpr absl::Duration kOldest = absl::Seconds(1);
constexpr int kSteps = 4000;

// Two who take a lock in turns, and a resource that asks about all that ever held it.
class OrderOfSteps {
 public:
  explicit OrderOfSteps(uint64_t seed) : random_(seed), simulation_({.servers = 3}, seed) {
    Start(simulation_, resource_, {.session_timeout = absl::Seconds(4)});
    for (LockUser& user : users_) Start(simulation_, user, {.session_timeout = absl::Seconds(4)});
    cache_ = std::make_unique<SequencerCache>(
        resource_.client, SequencerCacheOptions{.max_age = kOldest, .max_entries = 3});
  }

  void Run() {
    for (int i = 0; i < kSteps && broken.empty(); ++i) {
      TakeStep();
      NoteWhatIsGone();
      if (OneIn(20)) UseTheLock(users_[random_() % 2]);
      if (OneIn(8)) Ask();
      if (OneIn(60)) Disturb();
    }
  }

  std::string broken;  // the rule that is, or ""
  int yes = 0;
  int no = 0;

 private:
  struct Grant {
    explicit Grant(Sequencer of) : sequencer(std::move(of)) {}
    Sequencer sequencer;
    std::optional<base::BootTime> gone = std::nullopt;  // since when
  };

  bool OneIn(uint32_t n) { return random_() % n == 0; }
  ModelEnsemble& model() { return simulation_.ensemble(); }

  // Time moves on now and then although there is something to do.
  void TakeStep() {
    std::vector<Step> steps;
    simulation_.ListSteps(steps);
    if (steps.size() > 1 && !OneIn(20)) steps.pop_back();
    simulation_.Run(steps[random_() % steps.size()]);
    if (OneIn(50)) simulation_.SetTime(simulation_.now() + absl::Milliseconds(random_() % 300));
  }

  void UseTheLock(LockUser& user) {
    if (user.answers == asked_[&user]) {
      user.result.reset();
      ++asked_[&user];
      return user.Acquire();
    }
  }

  void NoteWhatIsGone() {
    for (LockUser& user : users_) {
      if (user.holds()) granted_.try_emplace(user.lease().node(), user.lease().sequencer());
    }
    for (auto& [node, grant] : granted_) {
      if (!grant.gone.has_value() && model().committed().Find(node) == nullptr) {
        grant.gone = simulation_.now();
      }
    }
  }

  void Ask() {
    if (granted_.empty()) return;
    const Sequencer sequencer =
        std::next(granted_.begin(), random_() % granted_.size())->second.sequencer;
    cache_->CheckAsync(sequencer, {.timeout = absl::Seconds(5)},
                       [this, node = sequencer.node](absl::StatusOr<bool> holds) {
                         if (holds.ok()) Judge(node, *holds);
                       });
  }
  void Judge(const std::string& node, bool holds) {
    const std::optional<base::BootTime> gone = granted_.at(node).gone;
    ++(holds ? yes : no);
    if (holds && gone.has_value() && simulation_.now() - *gone >= kOldest) {
      broken = absl::StrCat(node, ": holds, though it is gone since ",
                            absl::FormatDuration(simulation_.now() - *gone));
    }
    if (!holds && !gone.has_value()) broken = absl::StrCat(node, ": does not hold, though it does");
  }

  void Disturb() {
    using enum Host::Network;
    constexpr Host::Network kNetworks[] = {kUp, kUp, kUp, kDown, kDeaf, kSilent};
    const int server = static_cast<int>(random_() % 3);
    Host& host = OneIn(2) ? *resource_.host : *users_[random_() % 2].host;
    switch (random_() % 6) {
      case 0:
        return host.set_network(kNetworks[random_() % std::size(kNetworks)]);
      case 1:
        return OneIn(2) ? host.BreakConnections() : LoseConnectionAndRequests(simulation_, host);
      case 2:
        if (server != model().leader()) model().CutOff(server, simulation_.now());
        return;
      case 3:
        return model().Heal(server, simulation_.now());
      case 4:
        return model().Stall(server, OneIn(2), OneIn(2), simulation_.now());
      default:
        if (OneIn(3)) {
          const LockUser& user = OneIn(2) ? resource_ : users_[random_() % 2];
          model().Expire(user.client->session_id(), simulation_.now());
        }
    }
  }

  std::mt19937 random_;
  Simulation simulation_;
  LockUser resource_;
  LockUser users_[2];
  std::map<LockUser*, int> asked_;
  std::map<std::string, Grant> granted_;  // by node
  std::unique_ptr<SequencerCache> cache_;
};

TEST(SequencerCacheInAnyOrder, NoAnswerIsOlderThanItMayBeAndNoIsForGood) {
  int yes = 0;
  int no = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    OrderOfSteps order(seed);
    order.Run();
    ASSERT_EQ(order.broken, "") << "seed " << seed;
    yes += order.yes;
    no += order.no;
  }
  EXPECT_GT(yes, 300);
  EXPECT_GT(no, 300);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
