// SPDX-License-Identifier: Apache-2.0
//
// A gate with little room beside a model that remembers everything: random holders of keys in two
// groups, with tokens of an ensemble each and some with turns, show passes late, again, and after
// newer ones, some by a FencingKey that they let go of later; the store fails, and the gate is
// opened anew. The gate admits nothing that the model refuses, and refuses what the model admits
// only as FencingGateOptions::max_keys says.

#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/fencing/floor_store_fixture.h"
#include "zkrecipes/fencing/fencing_gate.h"

namespace zkrecipes::fencing {
namespace {

constexpr size_t kRoom = 32;
constexpr int kKeys = 100;    // of each group
constexpr int kHot = 4;       // that every second pass is for
constexpr size_t kHeld = 12;  // of both groups, at once

struct Holder {
  size_t group = 0;
  std::string key;
  FencingPass pass;
  size_t since = 0;  // its grant, or its last admission: an index of the group's `came`
};

struct Group {
  int64_t last_token = 0;
  std::vector<std::string> came;  // the keys that were shown, in order
  size_t opened = 0;              // of `came`, when the gate was opened
};

struct Counts {
  int admitted = 0, stale = 0, over = 0, folded = 0, exhausted = 0, failed = 0;
};

class GateWorld {
 public:
  GateWorld(unsigned seed, Counts& counts) : random_(seed), counts_(counts) {
    groups_[1].last_token = 1'000'000'000;
    Open();
  }

  void Step() {
    const int what = Any(100);
    if (what < 30 || holders_.size() < 10) {
      Grant();
    } else if (what < 36) {
      Hold();
    } else if (what < 40) {
      LetGo();
    } else if (what < 41) {
      Show(holders_[let_go_]);
    } else if (what < 97) {
      // Mostly one of the latest grants.
      const int back = Any(Any(3) == 0 ? static_cast<int>(holders_.size()) : 10);
      Show(holders_[holders_.size() - 1 - static_cast<size_t>(back)]);
    } else if (what == 97) {
      kept_.fails = !kept_.fails && Any(4) == 0;
    } else if (what == 98) {
      kept_.forget_fails = !kept_.forget_fails && Any(4) == 0;
    } else if (Any(20) == 0) {
      Open();
    }
    EXPECT_LE(gate_->keys(), 2 * kRoom);
  }

 private:
  int Any(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void Open() {
    held_.clear();
    gate_ = nullptr;
    gate_ = *FencingGate::Open({.max_keys = kRoom,
                                .group_of = [](const std::string& key) { return key.substr(0, 1); },
                                .store = std::make_unique<Memory>(kept_)});
    for (Group& group : groups_) {
      group.came.emplace_back();  // so that an admission right before this is before it
      group.opened = group.came.size();
    }
  }

  std::string AnyKey(size_t group) {
    return absl::StrCat(group, "/", Any(2) == 0 ? Any(kHot) : Any(kKeys));
  }

  // Now and then the key is only touched.
  void Hold() {
    const auto group = static_cast<size_t>(Any(2));
    const std::string key = AnyKey(group);
    absl::StatusOr<FencingKey> held = gate_->Of(key);
    if (absl::IsUnavailable(held.status())) {
      EXPECT_TRUE(kept_.fails || kept_.forget_fails);
      return;
    }
    groups_[group].came.push_back(key);
    EXPECT_TRUE(held.ok() || absl::IsResourceExhausted(held.status())) << held.status();
    if (held.ok() && held_.size() < kHeld) held_.try_emplace(key, *std::move(held));
  }

  // A holder of the key shows its pass once more, as it does later by the gate.
  void LetGo() {
    if (held_.empty()) return;
    const std::string key = std::next(held_.begin(), Any(static_cast<int>(held_.size())))->first;
    for (let_go_ = holders_.size() - 1; let_go_ > 0 && holders_[let_go_].key != key; --let_go_) {
    }
    Show(holders_[let_go_]);
    held_.erase(key);
  }

  void Grant() {
    const auto group = static_cast<size_t>(Any(2));
    Holder holder = {.group = group,
                     .key = AnyKey(group),
                     .pass = {.token = FencingToken(++groups_[group].last_token)},
                     .since = groups_[group].came.size()};
    if (Any(4) == 0) {
      holder.pass.mode = GrantMode::kShared;
    } else if (Any(2) == 0) {
      holder.pass.turn = 1;
    }
    holders_.push_back(holder);
    if (Any(3) > 0) Show(holders_.back());
  }

  // Of a token with turns sometimes the next one, and now and then one that may be over.
  void Show(Holder& holder) {
    if (holder.pass.turn > 0 && Any(3) == 0) ++holder.pass.turn;
    if (holder.pass.turn > 1 && Any(10) == 0) {
      Holder late = holder;
      late.pass.turn -= 1 + Any(2);
      ShowPass(late);
    }
    ShowPass(holder);
  }

  void ShowPass(Holder& holder) {
    const auto held = held_.find(holder.key);
    const absl::Status status = held != held_.end() ? held->second.Admit(holder.pass)
                                                    : gate_->Admit(holder.key, holder.pass);
    FencingFloor floor = model_[holder.key];
    Group& group = groups_[holder.group];
    SCOPED_TRACE(absl::StrCat(holder.key, " ", holder.pass.token.ToString(), ": ",
                              std::string(status.message())));
    if (!floor.Admit(holder.pass).ok()) {
      ++counts_.stale;
      counts_.over += holder.pass.token == floor.exclusive;
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << "the model refuses it";
      return;
    }
    if (absl::IsUnavailable(status)) {
      ++counts_.failed;
      EXPECT_TRUE(kept_.fails || kept_.forget_fails);
      group.came.push_back(holder.key);  // it may have taken a place before its floor was saved
      return;
    }
    if (absl::IsFailedPrecondition(status)) {
      ++counts_.folded;
      EXPECT_FALSE(MustAdmit(holder)) << "it is live";
      return;
    }
    group.came.push_back(holder.key);
    if (absl::IsResourceExhausted(status)) {
      ++counts_.exhausted;
      return;
    }
    ASSERT_TRUE(status.ok());
    ++counts_.admitted;
    model_[holder.key] = floor;
    holder.since = group.came.size();
  }

  // Fewer than kRoom / 2 other keys have come since its grant, or since it was last admitted.
  bool MustAdmit(const Holder& holder) const {
    const Group& group = groups_[holder.group];
    if (holder.since < group.opened) return false;
    std::set<std::string> others(group.came.begin() + static_cast<std::ptrdiff_t>(holder.since),
                                 group.came.end());
    others.erase(holder.key);
    return others.size() < kRoom / 2;
  }

  std::mt19937 random_;
  Counts& counts_;
  Memory::Kept kept_;
  std::unique_ptr<FencingGate> gate_;
  std::map<std::string, FencingKey> held_;
  std::array<Group, 2> groups_;
  std::vector<Holder> holders_;
  size_t let_go_ = 0;  // of holders_: the last holder of the key that was let go of last
  std::map<std::string, FencingFloor> model_;
};

TEST(GateModel, AdmitsNothingStaleAndRefusesOnlyWhatIsNotLive) {
  Counts counts;
  for (unsigned seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    GateWorld world(seed, counts);
    for (int step = 0; step < 2000; ++step) world.Step();
  }
  // All of it happened.
  EXPECT_GT(counts.admitted, 50'000);
  EXPECT_GT(counts.stale, 10'000);
  EXPECT_GT(counts.over, 500);
  EXPECT_GT(counts.folded, 1000);
  EXPECT_GT(counts.failed, 1000);
  EXPECT_GT(counts.exhausted, 100);
  EXPECT_LT(counts.exhausted, counts.admitted / 50);
  std::printf("admitted %d, stale %d, %d of them turns, folded %d, no place %d, store failed %d\n",
              counts.admitted, counts.stale, counts.over, counts.folded, counts.exhausted,
              counts.failed);
}

}  // namespace
}  // namespace zkrecipes::fencing
