// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing_gate.h"

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace zkrecipes {
namespace {

FencingPass Holder(int64_t token) { return {.token = FencingToken(token)}; }

std::unique_ptr<FencingGate> GateFor(size_t keys) { return *FencingGate::Open({.max_keys = keys}); }

// Remembers, fails when told to, and counts.
class Memory : public FloorStore {
 public:
  struct Kept {
    std::map<std::string, FencingFloor> floors;
    int saves = 0;
    bool fails = false;
  };
  explicit Memory(Kept& kept) : kept_(kept) {}
  absl::Status Load(
      absl::FunctionRef<void(const std::string&, const FencingFloor&)> each) override {
    for (const auto& [key, floor] : kept_.floors) each(key, floor);
    return absl::OkStatus();
  }
  absl::Status Save(const std::string& key, const FencingFloor& floor) override {
    if (kept_.fails) return absl::UnavailableError("the disk is full");
    ++kept_.saves;
    kept_.floors[key] = floor;
    return absl::OkStatus();
  }
  absl::Status Forget(const std::string& key) override {
    kept_.floors.erase(key);
    return absl::OkStatus();
  }

 private:
  Kept& kept_;
};

std::unique_ptr<FencingGate> GateOn(Memory::Kept& kept, size_t keys = 1000) {
  return *FencingGate::Open({.max_keys = keys, .store = std::make_unique<Memory>(kept)});
}

TEST(FencingGate, KeepsAFloorForEachKey) {
  const auto gate = GateFor(1000);
  EXPECT_EQ(gate->Admit("a", Holder(7)), absl::OkStatus());
  EXPECT_EQ(gate->Admit("b", Holder(5)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("a", Holder(6))));
  EXPECT_EQ(gate->Of("a")->floor().exclusive, FencingToken(7));
  EXPECT_EQ(gate->keys(), 2u);
}

TEST(FencingGate, SavesBeforeItAdmitsAndOnlyWhatIsNew) {
  Memory::Kept kept;
  const auto gate = GateOn(kept);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(gate->Admit("a", Holder(7)), absl::OkStatus());
  EXPECT_EQ(kept.saves, 1);
  kept.fails = true;
  EXPECT_EQ(gate->Admit("a", Holder(8)), absl::UnavailableError("the disk is full"));
  EXPECT_EQ(gate->Admit("a", Holder(7)), absl::OkStatus()) << "8 was not admitted";
  kept.fails = false;
  EXPECT_EQ(gate->Admit("a", Holder(8)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(GateOn(kept)->Admit("a", Holder(7)))) << "after a restart";
}

TEST(FencingGate, FoldsTheFloorsOfKeysThatAreNotUsedAndForgetsNone) {
  Memory::Kept kept;
  const auto gate = GateOn(kept, 160);
  std::map<std::string, int64_t> shown;
  for (int64_t token = 1; token <= 5000; ++token) {
    // One that is used all the time, by an old holder, and one that a FencingKey is held of.
    ASSERT_EQ(gate->Admit("busy", Holder(1)), absl::OkStatus());
    const std::string key = absl::StrCat("key ", token);
    ASSERT_EQ(gate->Admit(key, Holder(token)), absl::OkStatus());
    shown[key] = token;
  }
  EXPECT_LE(gate->keys(), 160u);
  EXPECT_LE(kept.floors.size(), 161u);
  EXPECT_GT(gate->common_floor().exclusive, FencingToken(4000));
  EXPECT_LT(gate->common_floor().exclusive, FencingToken(5000));
  const auto again = GateOn(kept, 160);
  for (const auto& [key, token] : shown) {
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit(key, Holder(token - 1))) || token == 1);
    EXPECT_TRUE(absl::IsFailedPrecondition(again->Admit(key, Holder(token - 1))) || token == 1);
  }
}

TEST(FencingGate, NeverFoldsAKeyThatIsHeld) {
  const auto gate = GateFor(16);
  FencingKey held = *gate->Of("held");
  EXPECT_EQ(held.Admit(Holder(3)), absl::OkStatus());
  for (int64_t i = 1; i < 1000; ++i) {
    EXPECT_EQ(gate->Admit(absl::StrCat(i), Holder(10'000 + i)), absl::OkStatus());
  }
  EXPECT_EQ(gate->Admit("held", Holder(4)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(held.Admit(Holder(3)))) << "it is the same floor";
}

TEST(FencingGate, RestoredKeysMoreThanItHasRoomForAreFolded) {
  Memory::Kept kept;
  {
    const auto gate = GateOn(kept, 10'000);
    for (int64_t i = 1; i <= 1000; ++i) (void)gate->Admit(absl::StrCat(i), Holder(i));
  }
  const auto gate = GateOn(kept, 160);
  for (int64_t i = 1001; i <= 1500; ++i) (void)gate->Admit(absl::StrCat(i), Holder(i));
  EXPECT_LE(gate->keys(), 160u);
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("1000", Holder(999))));
}

// Each thread shows what it holds; a token that was admitted is never followed by an older one.
TEST(FencingGate, OrdersWhatThreadsShowAtOnce) {
  const auto gate = GateFor(1000);
  std::vector<std::jthread> threads;
  std::atomic<int64_t> newest = 0;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      FencingKey key = *gate->Of("a");
      for (int64_t i = 1; i <= 20'000; ++i) {
        const int64_t seen = newest.load();
        const int64_t mine = std::max<int64_t>(seen + i % 3 - 1, 1);
        const bool admitted = key.Admit(Holder(mine)).ok();
        if (admitted && mine < seen) ++wrong;
        if (!admitted) continue;
        for (int64_t n = newest.load(); n < mine && !newest.compare_exchange_weak(n, mine);) {
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(gate->Of("a")->floor().exclusive.value(), newest.load());
}

}  // namespace
}  // namespace zkrecipes
