// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_SEQUENCER_CACHE_FIXTURE_H_
#define ZKRECIPES_RECIPES_SEQUENCER_CACHE_FIXTURE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

#include "recipes/lock_fixture.h"
#include "zkrecipes/sequencer_cache.h"

namespace zkrecipes::testing::memory {

// A holder, and a resource that checks its sequencer by the cache that ships.
class SequencerCacheTest : public LockInMemoryTest {
 protected:
  static constexpr int kFirstQuestion = 4;  // requests
  static constexpr absl::Duration kMaxAge = absl::Seconds(1);
  static constexpr absl::Duration kInstant = absl::Milliseconds(10);

  using Answer = std::optional<absl::StatusOr<bool>>;

  SequencerCacheTest() { NewCache(); }
  void NewCache(size_t max_entries = 100) {
    const SequencerCacheOptions options = {.max_age = kMaxAge, .max_entries = max_entries};
    cache_ = std::make_unique<SequencerCache>(resource_->client, options);
    simulation_.RunUntilIdle();
  }

  std::shared_ptr<Answer> Ask(const Sequencer& sequencer, WaitOptions wait = {}) {
    auto answer = std::make_shared<Answer>();
    cache_->CheckAsync(sequencer, std::move(wait),
                       [answer](absl::StatusOr<bool> holds) { answer->emplace(holds); });
    return answer;
  }
  // Runs all that needs no time. Returns how many requests of the resource's were served.
  int Settle() {
    int requests = 0;
    for (;;) {
      std::vector<Step> steps;
      simulation_.ListSteps(steps);
      if (steps.empty() || steps.front().kind == Step::Kind::kAdvance) return requests;
      const Step& step = steps.front();
      if (step.kind == Step::Kind::kExecute && resource_->host->Owns(step.who) &&
          std::holds_alternative<wire::Call>(*model().NextOf(step.who))) {
        ++requests;
      }
      simulation_.Run(step);
    }
  }
  // The answer that needs no time: "yes", "no", a status, or "" if there is none.
  std::string Check(const Sequencer& sequencer, int* requests = nullptr) {
    const auto answer = Ask(sequencer);
    const int made = Settle();
    if (requests != nullptr) *requests = made;
    if (!answer->has_value()) return "";
    if (!(*answer)->ok()) return std::string((*answer)->status().message());
    return ***answer ? "yes" : "no";
  }
  void ExpectAsked(const Sequencer& sequencer, const std::string& answer, int requests) {
    int made = 0;
    EXPECT_EQ(Check(sequencer, &made), answer);
    EXPECT_EQ(made, requests);
  }

  std::vector<Sequencer> HoldMany(LockUser& holder, int many) {
    std::vector<Sequencer> sequencers;
    for (int i = 0; i < many; ++i) {
      Lock(holder.client, absl::StrCat("/many/", i))
          .AcquireAsync({}, [&](absl::StatusOr<Lease> lease) {
            sequencers.push_back(lease->sequencer());
            held_.push_back(*std::move(lease));
          });
      simulation_.RunUntilIdle();
    }
    return sequencers;
  }
  int WatchesOfTheResource() {
    const auto watches = model().Watches();
    return static_cast<int>(std::ranges::count_if(watches, [this](const auto& watch) {
      return watch.first == resource_->client->session_id();
    }));
  }

  std::vector<Lease> held_;
  std::unique_ptr<LockUser> resource_ = Start();
  std::unique_ptr<LockUser> holder_ = StartHolder();
  Sequencer sequencer_ = holder_->lease().sequencer();
  std::unique_ptr<SequencerCache> cache_;
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_SEQUENCER_CACHE_FIXTURE_H_
