// SPDX-License-Identifier: Apache-2.0

#include "lib/session/needs.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "lib/session/session.h"

namespace zkrecipes::session {
namespace {

TEST(Needs, AreThoseOfAllListenersWhateverChanges) {
  std::mt19937 random(1);
  const auto any = [&random](unsigned below) { return random() % below; };
  Needs needs;
  std::vector<machine::Need> each(20);
  for (int i = 0; i < 10'000; ++i) {
    machine::Need& need = each[any(20)];
    const machine::Need before = need;
    need.proof = any(15) == 0;
    need.lease = need.proof && any(2) == 0;
    need.first = need.proof && !need.lease && any(2) == 0;
    need.delay_lifetime =
        any(5) == 0 ? absl::Seconds(static_cast<int>(any(10))) : absl::InfiniteDuration();
    needs.Replace(before, need);
    machine::Need all;
    for (const machine::Need& one : each) {
      all.proof |= one.proof;
      all.lease |= one.lease;
      all.first |= one.first;
      all.delay_lifetime = std::min(all.delay_lifetime, one.delay_lifetime);
    }
    ASSERT_EQ(needs.all(), all) << "after " << i;
  }
}

TEST(Needs, OfNoListenersAreNone) {
  Needs needs;
  EXPECT_EQ(needs.all(), machine::Need());
  const machine::Need one{.proof = true, .lease = true, .delay_lifetime = absl::Seconds(1)};
  needs.Replace({}, one);
  needs.Replace({}, one);
  needs.Replace(one, {});
  EXPECT_EQ(needs.all(), one);
  needs.Replace(one, {});
  EXPECT_EQ(needs.all(), machine::Need());
}

// ---- of a session's listeners -------------------------------------------------------------------

class IdleReactor : public zk::Reactor {
 public:
  void Post(Task) override {}
  TimerId CallAt(base::BootTime, Task) override { return 1; }
  void Cancel(TimerId) override {}
  base::BootTime Now() override { return base::BootTime(); }
  uint64_t Random() override { return 0; }
};

// One of many; says what it needs as often as it is asked.
class Asked : public ProofListener {
 public:
  explicit Asked(int& times) : times_(times) {}
  machine::Need need() const override { return {.proof = ++times_ > 0}; }
  void OnProven() override {}
  void OnLapsed() override {}
  void OnValidityEnded() override {}
  void OnEpochUnreadable(const absl::Status&) override {}
  std::string NodeToCheck() const override { return ""; }
  void OnNodeChecked(bool) override {}
  void OnSuspicionCheck() override {}
  void OnFailed(const absl::Status&) override {}
  void OnClosing() override {}

 private:
  int& times_;
};

// Otherwise n of them ask n^2 times.
TEST(Needs, AreAskedOfTheOneListenerThatChanges) {
  Session session(std::make_shared<IdleReactor>(), nullptr, nullptr, {});
  int times = 0;
  std::deque<Asked> listeners;
  for (int i = 0; i < 1000; ++i) session.Join(&listeners.emplace_back(times));
  EXPECT_EQ(times, 1000);
  session.NeedChanged(&listeners[7]);
  for (Asked& listener : listeners) session.Part(&listener);
  EXPECT_EQ(times, 1001);
}

}  // namespace
}  // namespace zkrecipes::session
