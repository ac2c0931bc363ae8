// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing_gate.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
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
    bool forget_fails = false;
    std::function<void()> while_saving = [] {};
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
    kept_.while_saving();
    kept_.floors[key] = floor;
    return absl::OkStatus();
  }
  absl::Status Forget(const std::string& key) override {
    if (kept_.forget_fails) return absl::UnavailableError("the disk is full");
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
  for (int64_t i = 1001; i <= 4000; ++i) (void)gate->Admit(absl::StrCat(i), Holder(i));
  EXPECT_LE(gate->keys(), 160u);
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("1000", Holder(999))));
}

// One that let go of a key that the store still has would, after a restart, go back to that old
// floor.
TEST(FencingGate, KeepsAKeyThatTheStoreCannotForget) {
  Memory::Kept kept;
  kept.forget_fails = true;
  const auto gate = GateOn(kept, 16);
  std::map<std::string, int64_t> shown;
  int refused = 0;
  for (int64_t token = 1; token <= 200; ++token) {
    const std::string key = absl::StrCat(token);
    const absl::Status status = gate->Admit(key, Holder(token));
    if (status.ok()) shown[key] = token;
    if (absl::IsUnavailable(status)) ++refused;
  }
  EXPECT_EQ(shown.size(), 16u);
  EXPECT_EQ(refused, 200 - 16);
  kept.forget_fails = false;
  // A key that was folded and is used again, by the holder whose token the common floor has.
  const FencingToken common = gate->common_floor().exclusive;
  for (const auto& [key, token] : shown) (void)gate->Admit(key, Holder(common.value()));
  const auto again = GateOn(kept, 16);
  for (const auto& [key, token] : shown) {
    const int64_t old = std::max(token, common.value()) - 1;
    if (old > 0) {
      EXPECT_TRUE(absl::IsFailedPrecondition(again->Admit(key, Holder(old)))) << key;
    }
  }
}

TEST(FencingGate, AKeyInUseNeverWaitsForAnothersPassToBeSaved) {
  Memory::Kept kept;
  const auto gate = GateOn(kept);
  FencingKey key = *gate->Of("a");
  ASSERT_EQ(key.Admit(Holder(7)), absl::OkStatus());
  absl::Status known = absl::UnknownError(""), stale = known;
  FencingFloor floor;
  // Would wait for itself, if it took the lock.
  kept.while_saving = [&] {
    std::jthread other([&] {
      known = key.Admit(Holder(7));
      stale = key.Admit(Holder(6));
      floor = key.floor();
    });
  };
  EXPECT_EQ(key.Admit(Holder(8)), absl::OkStatus());
  EXPECT_EQ(known, absl::OkStatus()) << "8 was not admitted yet";
  EXPECT_TRUE(absl::IsFailedPrecondition(stale));
  EXPECT_EQ(floor.exclusive, FencingToken(7));
}

TEST(FencingGate, OrdersWhatThreadsShowAtOnce) {
  const auto gate = GateFor(1000);
  std::vector<std::jthread> threads;
  // The floor that threads know of: no pass that it refuses may be admitted by a call that begins
  // later.
  std::mutex mutex;
  FencingFloor known;
  std::atomic<int> wrong = 0, admitted = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      FencingKey key = *gate->Of("a");
      for (int64_t i = 1; i <= 40'000; ++i) {
        const FencingFloor near = key.floor();
        FencingPass pass = Holder(std::max<int64_t>(
            std::max(near.exclusive, near.shared).value() + (i * 7 + t) % 3 - 1, 1));
        pass.epoch = near.epoch;
        if ((i + t) % 3 == 0) pass.mode = GrantMode::kShared;
        if (i % 1000 == 250 * t) pass = {.token = FencingToken(1), .epoch = near.epoch + 1};
        FencingFloor before;
        {
          const std::lock_guard lock(mutex);
          before = known;
        }
        if (!key.Admit(pass).ok()) continue;
        ++admitted;
        if (!before.Admit(pass).ok()) ++wrong;
        const std::lock_guard lock(mutex);
        (void)known.Admit(pass);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(admitted, 20'000);
  const FencingFloor floor = gate->Of("a")->floor();
  EXPECT_GT(floor.epoch, 10);
  EXPECT_EQ(floor.epoch, known.epoch);
  EXPECT_GE(floor.exclusive, known.exclusive);
}

}  // namespace
}  // namespace zkrecipes
