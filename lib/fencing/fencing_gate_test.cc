// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing_gate.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/fencing/floor_store_fixture.h"

namespace zkrecipes {
namespace {

using fencing::Memory;

FencingPass Holder(int64_t token) { return {.token = FencingToken(token)}; }

std::unique_ptr<FencingGate> GateFor(size_t keys) { return *FencingGate::Open({.max_keys = keys}); }

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

TEST(FencingGate, AKeyIsJudgedBeforeItIsKept) {
  Memory::Kept kept;
  const auto gate = GateOn(kept);
  for (const size_t bytes : {FencingGate::kMaxKeyBytes + 1, size_t{30'000}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(gate->Admit(std::string(bytes, 'k'), Holder(7))));
    EXPECT_TRUE(absl::IsInvalidArgument(gate->Of(std::string(bytes, 'k')).status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(gate->Admit("k", Holder(0))));
  EXPECT_EQ(gate->keys(), 0u);
  EXPECT_EQ(kept.saves, 0);
  EXPECT_EQ(gate->Admit(std::string(FencingGate::kMaxKeyBytes, 'k'), Holder(7)), absl::OkStatus());
}

TEST(FencingGate, RefusesAStoreOfAnotherKind) {
  Memory::Kept kept;
  kept.floors["another's"] = {};
  auto gate = FencingGate::Open({.store = std::make_unique<Memory>(kept)});
  EXPECT_TRUE(absl::IsDataLoss(gate.status())) << gate.status();
}

TEST(FencingGate, WhatIsStaleTakesNoPlace) {
  const auto gate = GateFor(16);
  for (int64_t i = 1; i <= 100; ++i) (void)gate->Admit(absl::StrCat(i), Holder(1000 + i));
  const FencingFloor common = gate->common_floor();
  ASSERT_GT(common.exclusive, FencingToken(1000));
  for (int64_t i = 1; i <= 1000; ++i) {
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit(absl::StrCat("new ", i), Holder(1000))));
  }
  EXPECT_EQ(gate->common_floor(), common);
  EXPECT_EQ(gate->FloorOf("100").exclusive, FencingToken(1100)) << "it has its place still";
}

TEST(FencingGate, AFloodOfOldTokensRaisesTheCommonFloorOverNobody) {
  const auto gate = GateFor(1000);
  ASSERT_EQ(gate->Admit("live", Holder(1000)), absl::OkStatus());
  for (int64_t i = 1; i <= 20'000; ++i) (void)gate->Admit(absl::StrCat("new ", i), Holder(1));
  EXPECT_LE(gate->common_floor().exclusive, FencingToken(1));
  EXPECT_EQ(gate->Admit("late", Holder(900)), absl::OkStatus());
  EXPECT_EQ(gate->Admit("live", Holder(1000)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("live", Holder(999))));
}

TEST(FencingGate, ATokenBeyondAllOthersIsFoldedLast) {
  const auto gate = GateFor(16);
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  ASSERT_EQ(gate->Admit("forged", Holder(kGreatest)), absl::OkStatus());
  for (int64_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(gate->Admit(absl::StrCat(i), Holder(i)), absl::OkStatus()) << i;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("forged", Holder(kGreatest - 1))));
}

// Tokens of two ensembles say nothing about each other.
TEST(FencingGate, AGroupFoldsNothingOfAnothers) {
  Memory::Kept kept;
  const auto open = [&kept] {
    return *FencingGate::Open({.max_keys = 16,
                               .group_of = [](const std::string& key) { return key.substr(0, 1); },
                               .store = std::make_unique<Memory>(kept)});
  };
  auto gate = open();
  for (int64_t i = 1; i <= 200; ++i) {
    ASSERT_EQ(gate->Admit(absl::StrCat("a/", i), Holder(i)), absl::OkStatus());
    ASSERT_EQ(gate->Admit(absl::StrCat("b/", i), Holder(1'000'000 + i)), absl::OkStatus());
  }
  for (const bool restarted : {false, true}) {
    if (restarted) gate = open();
    EXPECT_LT(gate->common_floor("a").exclusive, FencingToken(200));
    EXPECT_GT(gate->common_floor("b").exclusive, FencingToken(1'000'000));
    EXPECT_EQ(gate->common_floor(""), FencingFloor());
    EXPECT_EQ(gate->Admit("a/new", Holder(201)), absl::OkStatus());
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("a/2", Holder(1))));
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("b/2", Holder(201))));
  }
}

TEST(FencingGate, RefusesANewKeyRatherThanFoldOneThatIsLive) {
  const auto gate = GateFor(4);
  std::vector<FencingKey> held;
  for (int64_t i = 1; i <= 4; ++i) {
    held.push_back(*gate->Of(absl::StrCat(i)));
    ASSERT_EQ(held.back().Admit(Holder(i)), absl::OkStatus());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(gate->Admit("new", Holder(5))));
  EXPECT_TRUE(absl::IsResourceExhausted(gate->Of("new").status()));
  EXPECT_EQ(gate->keys(), 4u);
  held.clear();
  EXPECT_EQ(gate->Admit("new", Holder(5)), absl::OkStatus());
  EXPECT_EQ(gate->common_floor().exclusive, FencingToken(1));
}

TEST(FencingGate, RefusesAnOldPassRatherThanFoldWhatWouldShutItOut) {
  const auto gate = GateFor(16);
  for (int64_t i = 1; i <= 16; ++i) (void)gate->Admit(absl::StrCat(i), Holder(1000 + i));
  EXPECT_TRUE(absl::IsResourceExhausted(gate->Admit("old", Holder(5))));
  EXPECT_EQ(gate->common_floor(), FencingFloor());
  EXPECT_EQ(gate->Admit("new", Holder(1017)), absl::OkStatus());
}

// One idle key that may not be folded hides none of the others, which grow old meanwhile.
TEST(FencingGate, FindsAPlaceOnceKeysAreNotLiveAnyMore) {
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  const auto by_of = GateFor(4);
  for (const char* key : {"1", "2", "3", "4", "2"}) ASSERT_TRUE(by_of->Of(key).ok()) << key;
  const auto two = GateFor(2);
  for (const char* key : {"1", "2"}) ASSERT_TRUE(two->Of(key).ok()) << key;
  const auto by_admit = GateFor(16);
  ASSERT_EQ(by_admit->Admit("forged", Holder(kGreatest)), absl::OkStatus());
  for (int64_t i = 0; i < 30; ++i) {
    ASSERT_EQ(by_admit->Admit(absl::StrCat(i % 15), Holder(1 + i % 15)), absl::OkStatus());
  }
  int of = 0, of_two = 0, admitted = 0;
  for (int64_t i = 0; i < 100; ++i) {
    const std::string key = absl::StrCat("new ", i);
    of += by_of->Of(key).ok() ? 1 : 0;
    of_two += two->Of(key).ok() ? 1 : 0;
    admitted += by_admit->Admit(key, Holder(100 + i)).ok() ? 1 : 0;
  }
  EXPECT_GE(of, 98);
  EXPECT_GE(of_two, 50) << "of two keys one is live, until another one was refused";
  EXPECT_GE(admitted, 92);
  EXPECT_TRUE(absl::IsFailedPrecondition(by_admit->Admit("forged", Holder(kGreatest - 1))));
}

TEST(FencingGate, AKeyThatWasLetGoOfIsLiveSinceItsLastPass) {
  const auto gate = GateFor(8);
  {
    FencingKey key = *gate->Of("a");
    ASSERT_EQ(key.Admit(Holder(1)), absl::OkStatus());
    for (int64_t i = 1; i <= 20; ++i) (void)gate->Admit(absl::StrCat(i), Holder(10 + i));
    ASSERT_EQ(key.Admit(Holder(1)), absl::OkStatus());
  }
  for (int64_t i = 21; i <= 23; ++i) (void)gate->Admit(absl::StrCat(i), Holder(10 + i));
  EXPECT_EQ(gate->Admit("a", Holder(1)), absl::OkStatus()) << "three others have come since";
  for (int64_t i = 24; i <= 40; ++i) (void)gate->Admit(absl::StrCat(i), Holder(10 + i));
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("a", Holder(1))));
}

TEST(FencingGate, KeysThatAreRefusedAgainAndAgainMakeNoOtherOld) {
  const auto gate = GateFor(16);
  const auto show_all = [&gate] {
    for (int64_t i = 1; i <= 16; ++i) {
      ASSERT_EQ(gate->Admit(absl::StrCat(i), Holder(i)), absl::OkStatus()) << i;
    }
  };
  for (int turn = 0; turn < 2; ++turn) show_all();
  for (int64_t i = 0; i < 100; ++i) {
    const std::string key = absl::StrCat("new ", i % 7);
    ASSERT_TRUE(absl::IsResourceExhausted(gate->Admit(key, Holder(100)))) << i;
    ASSERT_TRUE(absl::IsResourceExhausted(gate->Of(key).status())) << i;
  }
  show_all();
}

// Its own floor is gone by then, and the common one is not yet raised.
TEST(FencingGate, AStalePassForAKeyThatIsBeingFoldedIsRefused) {
  Memory::Kept kept;
  const auto gate = GateOn(kept, 1);
  ASSERT_EQ(gate->Admit("folded", Holder(10)), absl::OkStatus());
  absl::Status stale;
  std::jthread other;
  kept.while_saving = [&, once = true]() mutable {
    if (!std::exchange(once, false)) return;
    other = std::jthread([&] { stale = gate->Admit("folded", Holder(5)); });
    for (int i = 0; i < 10'000 && gate->keys() == 0; ++i) std::this_thread::yield();
  };
  EXPECT_EQ(gate->Admit("new", Holder(11)), absl::OkStatus());
  other.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(stale)) << stale;
}

// A holder whose key was folded, with the common floor itself for its token: its new place must
// outlive a restart, since the common floor may be above it by then.
TEST(FencingGate, AHolderThatComesBackAfterItsKeyWasFoldedHasAPlaceAgain) {
  Memory::Kept kept;
  const auto gate = GateOn(kept, 4);
  const auto admit = [&gate](const std::string& key, int64_t token) {
    EXPECT_EQ(gate->Admit(key, Holder(token)), absl::OkStatus()) << key;
    return gate->common_floor().exclusive.value();
  };
  for (const char* key : {"a", "b"}) EXPECT_EQ(admit(key, 1), 0);
  for (const char* key : {"c", "d"}) EXPECT_EQ(admit(key, 5), 0);
  EXPECT_EQ(admit("e", 6), 1);
  const std::string folded = kept.floors.contains("ka") ? "b" : "a";
  EXPECT_EQ(admit(folded, 1), 1);
  EXPECT_EQ(admit("f", 7), 5);
  EXPECT_EQ(admit(folded, 1), 5);
  EXPECT_EQ(GateOn(kept, 4)->Admit(folded, Holder(1)), absl::OkStatus());
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
        const FencingPass pass = Holder(std::max<int64_t>(++tokens - (i % 5) * 20, 1));
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
      EXPECT_TRUE(absl::IsFailedPrecondition(again->Admit(absl::StrCat(key), Holder(older))))
          << key;
    }
  }
}

// Two standalone servers in one list: a lock has an owner in each (docs/adr/0060).
TEST(FencingGate, TokensOfTwoEnsemblesAreToldApartByEpochsOrByGroups) {
  const auto by_mistake = GateFor(10);
  EXPECT_EQ(by_mistake->Admit("ledger", Holder(6)), absl::OkStatus());
  EXPECT_EQ(by_mistake->Admit("ledger", Holder(6)), absl::OkStatus()) << "the other's, unseen";

  const FencingPass other = {.token = FencingToken(6), .epoch = 1};
  EXPECT_EQ(by_mistake->Admit("ledger", other), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(by_mistake->Admit("ledger", Holder(7))))
      << "of the ensemble with the lower epoch";

  const auto on_purpose = *FencingGate::Open(
      {.max_keys = 4, .group_of = [](const std::string& key) { return key.substr(0, 1); }});
  EXPECT_EQ(on_purpose->Admit("1/ledger", Holder(1'000'000)), absl::OkStatus());
  for (int i = 0; i < 9; ++i) (void)on_purpose->Admit(absl::StrCat("1/", i), Holder(1'000'000 + i));
  EXPECT_EQ(on_purpose->Admit("2/ledger", Holder(6)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(on_purpose->Admit("2/ledger", Holder(5))));
}

}  // namespace
}  // namespace zkrecipes
