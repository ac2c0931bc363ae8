// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fencing_gate.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/fencing/floor_store_fixture.h"

namespace zkrecipes {
namespace {

using fencing::GateFor;
using fencing::GateOn;
using fencing::Memory;
using fencing::PassWith;

TEST(FencingGate, KeepsAFloorForEachKey) {
  const auto gate = GateFor(1000);
  EXPECT_EQ(gate->Admit("a", PassWith(7)), absl::OkStatus());
  EXPECT_EQ(gate->Admit("b", PassWith(5)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("a", PassWith(6))));
  EXPECT_EQ(gate->Of("a")->floor().exclusive, FencingToken(7));
  EXPECT_EQ(gate->keys(), 2u);
}

TEST(FencingGate, SavesBeforeItAdmitsAndOnlyWhatIsNew) {
  Memory::Kept kept;
  const auto gate = GateOn(kept);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(gate->Admit("a", PassWith(7)), absl::OkStatus());
  EXPECT_EQ(kept.saves, 1);
  kept.fails = true;
  EXPECT_EQ(gate->Admit("a", PassWith(8)), absl::UnavailableError("the disk is full"));
  EXPECT_EQ(gate->Admit("a", PassWith(7)), absl::OkStatus()) << "8 was not admitted";
  kept.fails = false;
  EXPECT_EQ(gate->Admit("a", PassWith(8)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(GateOn(kept)->Admit("a", PassWith(7))))
      << "after a restart";
}

TEST(FencingGate, AKeyIsJudgedBeforeItIsKept) {
  Memory::Kept kept;
  const auto gate = GateOn(kept);
  for (const size_t bytes : {FencingGate::kMaxKeyBytes + 1, size_t{30'000}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(gate->Admit(std::string(bytes, 'k'), PassWith(7))));
    EXPECT_TRUE(absl::IsInvalidArgument(gate->Of(std::string(bytes, 'k')).status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(gate->Admit("k", PassWith(0))));
  EXPECT_EQ(gate->keys(), 0u);
  EXPECT_EQ(kept.saves, 0);
  EXPECT_EQ(gate->Admit(std::string(FencingGate::kMaxKeyBytes, 'k'), PassWith(7)),
            absl::OkStatus());
}

TEST(FencingGate, SavesEachTurnOfATokenBeforeItAdmitsIt) {
  Memory::Kept kept;
  const auto gate = GateOn(kept);
  const auto admit = [](FencingGate& judge, int64_t turn) {
    return judge.Admit("a", {.token = FencingToken(7), .turn = turn});
  };
  for (const int64_t turn : {1, 1, 2, 2}) EXPECT_EQ(admit(*gate, turn), absl::OkStatus());
  EXPECT_EQ(kept.saves, 2);
  EXPECT_TRUE(absl::IsFailedPrecondition(admit(*gate, 1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(admit(*GateOn(kept), 1))) << "after a restart";
}

TEST(FencingGate, RefusesAStoreOfAnotherKind) {
  Memory::Kept kept;
  kept.floors["another's"] = {};
  auto gate = FencingGate::Open({.store = std::make_unique<Memory>(kept)});
  EXPECT_TRUE(absl::IsDataLoss(gate.status())) << gate.status();
}

TEST(FencingGate, AKeyInUseNeverWaitsForAnothersPassToBeSaved) {
  Memory::Kept kept;
  const auto gate = GateOn(kept);
  FencingKey key = *gate->Of("a");
  ASSERT_EQ(key.Admit(PassWith(7)), absl::OkStatus());
  absl::Status known = absl::UnknownError(""), stale = known;
  FencingFloor floor;
  // Would wait for itself, if it took the lock.
  kept.while_saving = [&] {
    std::jthread other([&] {
      known = key.Admit(PassWith(7));
      stale = key.Admit(PassWith(6));
      floor = key.floor();
    });
  };
  EXPECT_EQ(key.Admit(PassWith(8)), absl::OkStatus());
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
        FencingPass pass = PassWith(std::max<int64_t>(
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

// While keys are folded, come back and are folded again.
TEST(FencingGate, OrdersWhatThreadsShowOfManyKeys) {
  constexpr int kKeys = 64;
  Memory::Kept kept;
  const auto gate = GateOn(kept, 16);
  std::mutex mutex;
  std::vector<FencingFloor> known(kKeys);
  std::atomic<int> wrong = 0, admitted = 0;
  std::atomic<int64_t> tokens = 1;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 1; i <= 10'000; ++i) {
        const size_t key = static_cast<size_t>(i * (2 * t + 1) + t) % kKeys;
        const FencingPass pass = PassWith(std::max<int64_t>(++tokens - (i % 5) * 20, 1));
        FencingFloor before;
        {
          const std::lock_guard lock(mutex);
          before = known[key];
        }
        if (!gate->Admit(absl::StrCat(key), pass).ok()) continue;
        ++admitted;
        if (!before.Admit(pass).ok()) ++wrong;
        const std::lock_guard lock(mutex);
        (void)known[key].Admit(pass);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(admitted, 1000);
  const auto again = GateOn(kept, 16);
  for (size_t key = 0; key < kKeys; ++key) {
    const int64_t older = known[key].exclusive.value() - 1;
    if (older > 0) {
      EXPECT_TRUE(absl::IsFailedPrecondition(again->Admit(absl::StrCat(key), PassWith(older))))
          << key;
    }
  }
}

// Two standalone servers in one list: a lock has an owner in each (docs/adr/0060).
TEST(FencingGate, TokensOfTwoEnsemblesAreToldApartByEpochsOrByGroups) {
  const auto by_mistake = GateFor(10);
  EXPECT_EQ(by_mistake->Admit("ledger", PassWith(6)), absl::OkStatus());
  EXPECT_EQ(by_mistake->Admit("ledger", PassWith(6)), absl::OkStatus()) << "the other's, unseen";

  const FencingPass other = {.token = FencingToken(6), .epoch = 1};
  EXPECT_EQ(by_mistake->Admit("ledger", other), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(by_mistake->Admit("ledger", PassWith(7))))
      << "of the ensemble with the lower epoch";

  const auto on_purpose = *FencingGate::Open(
      {.max_keys = 4, .group_of = [](const std::string& key) { return key.substr(0, 1); }});
  EXPECT_EQ(on_purpose->Admit("1/ledger", PassWith(1'000'000)), absl::OkStatus());
  for (int i = 0; i < 9; ++i)
    (void)on_purpose->Admit(absl::StrCat("1/", i), PassWith(1'000'000 + i));
  EXPECT_EQ(on_purpose->Admit("2/ledger", PassWith(6)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(on_purpose->Admit("2/ledger", PassWith(5))));
}

}  // namespace
}  // namespace zkrecipes
