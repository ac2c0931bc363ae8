// SPDX-License-Identifier: Apache-2.0
//
// Which keys a gate folds when it has no more room, and which it keeps.

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
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

TEST(FencingGate, FoldsTheFloorsOfKeysThatAreNotUsedAndForgetsNone) {
  Memory::Kept kept;
  const auto gate = GateOn(kept, 160);
  std::map<std::string, int64_t> shown;
  for (int64_t token = 1; token <= 5000; ++token) {
    // One that is used all the time, by an old holder, and one that a FencingKey is held of.
    ASSERT_EQ(gate->Admit("busy", PassWith(1)), absl::OkStatus());
    const std::string key = absl::StrCat("key ", token);
    ASSERT_EQ(gate->Admit(key, PassWith(token)), absl::OkStatus());
    shown[key] = token;
  }
  EXPECT_LE(gate->keys(), 160u);
  EXPECT_LE(kept.floors.size(), 161u);
  EXPECT_GT(gate->common_floor().exclusive, FencingToken(4000));
  EXPECT_LT(gate->common_floor().exclusive, FencingToken(5000));
  const auto again = GateOn(kept, 160);
  for (const auto& [key, token] : shown) {
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit(key, PassWith(token - 1))) || token == 1);
    EXPECT_TRUE(absl::IsFailedPrecondition(again->Admit(key, PassWith(token - 1))) || token == 1);
  }
}

TEST(FencingGate, NeverFoldsAKeyThatIsHeld) {
  const auto gate = GateFor(16);
  FencingKey held = *gate->Of("held");
  EXPECT_EQ(held.Admit(PassWith(3)), absl::OkStatus());
  for (int64_t i = 1; i < 1000; ++i) {
    EXPECT_EQ(gate->Admit(absl::StrCat(i), PassWith(10'000 + i)), absl::OkStatus());
  }
  EXPECT_EQ(gate->Admit("held", PassWith(4)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(held.Admit(PassWith(3)))) << "it is the same floor";
}

TEST(FencingGate, RestoredKeysMoreThanItHasRoomForAreFolded) {
  Memory::Kept kept;
  {
    const auto gate = GateOn(kept, 10'000);
    for (int64_t i = 1; i <= 1000; ++i) (void)gate->Admit(absl::StrCat(i), PassWith(i));
  }
  const auto gate = GateOn(kept, 160);
  for (int64_t i = 1001; i <= 4000; ++i) (void)gate->Admit(absl::StrCat(i), PassWith(i));
  EXPECT_LE(gate->keys(), 160u);
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("1000", PassWith(999))));
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
    const absl::Status status = gate->Admit(key, PassWith(token));
    if (status.ok()) shown[key] = token;
    if (absl::IsUnavailable(status)) ++refused;
  }
  EXPECT_EQ(shown.size(), 16u);
  EXPECT_EQ(refused, 200 - 16);
  kept.forget_fails = false;
  // A key that was folded and is used again, by the holder whose token the common floor has.
  const FencingToken common = gate->common_floor().exclusive;
  for (const auto& [key, token] : shown) (void)gate->Admit(key, PassWith(common.value()));
  const auto again = GateOn(kept, 16);
  for (const auto& [key, token] : shown) {
    const int64_t old = std::max(token, common.value()) - 1;
    if (old > 0) {
      EXPECT_TRUE(absl::IsFailedPrecondition(again->Admit(key, PassWith(old)))) << key;
    }
  }
}

TEST(FencingGate, WhatIsStaleTakesNoPlace) {
  const auto gate = GateFor(16);
  for (int64_t i = 1; i <= 100; ++i) (void)gate->Admit(absl::StrCat(i), PassWith(1000 + i));
  const FencingFloor common = gate->common_floor();
  ASSERT_GT(common.exclusive, FencingToken(1000));
  for (int64_t i = 1; i <= 1000; ++i) {
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit(absl::StrCat("new ", i), PassWith(1000))));
  }
  EXPECT_EQ(gate->common_floor(), common);
  EXPECT_EQ(gate->FloorOf("100").exclusive, FencingToken(1100)) << "it has its place still";
}

TEST(FencingGate, AFloodOfOldTokensRaisesTheCommonFloorOverNobody) {
  const auto gate = GateFor(1000);
  ASSERT_EQ(gate->Admit("live", PassWith(1000)), absl::OkStatus());
  for (int64_t i = 1; i <= 20'000; ++i) (void)gate->Admit(absl::StrCat("new ", i), PassWith(1));
  EXPECT_LE(gate->common_floor().exclusive, FencingToken(1));
  EXPECT_EQ(gate->Admit("late", PassWith(900)), absl::OkStatus());
  EXPECT_EQ(gate->Admit("live", PassWith(1000)), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("live", PassWith(999))));
}

TEST(FencingGate, ATokenBeyondAllOthersIsFoldedLast) {
  const auto gate = GateFor(16);
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  ASSERT_EQ(gate->Admit("forged", PassWith(kGreatest)), absl::OkStatus());
  for (int64_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(gate->Admit(absl::StrCat(i), PassWith(i)), absl::OkStatus()) << i;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("forged", PassWith(kGreatest - 1))));
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
    ASSERT_EQ(gate->Admit(absl::StrCat("a/", i), PassWith(i)), absl::OkStatus());
    ASSERT_EQ(gate->Admit(absl::StrCat("b/", i), PassWith(1'000'000 + i)), absl::OkStatus());
  }
  for (const bool restarted : {false, true}) {
    if (restarted) gate = open();
    EXPECT_LT(gate->common_floor("a").exclusive, FencingToken(200));
    EXPECT_GT(gate->common_floor("b").exclusive, FencingToken(1'000'000));
    EXPECT_EQ(gate->common_floor(""), FencingFloor());
    EXPECT_EQ(gate->Admit("a/new", PassWith(201)), absl::OkStatus());
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("a/2", PassWith(1))));
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("b/2", PassWith(201))));
  }
}

// One holder's token may be shown for many keys.
TEST(FencingGate, FoldsOfOneTokenTheLowestTurnAndForgetsNone) {
  Memory::Kept kept;
  auto gate = GateOn(kept, 4);
  const auto admit = [&gate](const std::string& key, int64_t token, int64_t turn) {
    return gate->Admit(key, {.token = FencingToken(token), .turn = turn});
  };
  for (const int64_t turn : {8, 9, 7, 6}) {
    ASSERT_EQ(admit(absl::StrCat("key ", turn), 5, turn), absl::OkStatus());
  }
  gate = GateOn(kept, 4);  // where none of them is live
  for (const int64_t turn : {6, 7, 8, 9}) {
    ASSERT_EQ(admit(absl::StrCat("new ", turn), 6, turn), absl::OkStatus());
    EXPECT_EQ(gate->common_floor(), (FencingFloor{0, FencingToken(5), {}, turn}));
  }
  for (const int64_t turn : {6, 7, 8, 9}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(admit(absl::StrCat("key ", turn), 5, turn - 1)));
  }
}

TEST(FencingGate, RefusesANewKeyRatherThanFoldOneThatIsLive) {
  const auto gate = GateFor(4);
  std::vector<FencingKey> held;
  for (int64_t i = 1; i <= 4; ++i) {
    held.push_back(*gate->Of(absl::StrCat(i)));
    ASSERT_EQ(held.back().Admit(PassWith(i)), absl::OkStatus());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(gate->Admit("new", PassWith(5))));
  EXPECT_TRUE(absl::IsResourceExhausted(gate->Of("new").status()));
  EXPECT_EQ(gate->keys(), 4u);
  held.clear();
  EXPECT_EQ(gate->Admit("new", PassWith(5)), absl::OkStatus());
  EXPECT_EQ(gate->common_floor().exclusive, FencingToken(1));
}

TEST(FencingGate, RefusesAnOldPassRatherThanFoldWhatWouldShutItOut) {
  const auto gate = GateFor(16);
  for (int64_t i = 1; i <= 16; ++i) (void)gate->Admit(absl::StrCat(i), PassWith(1000 + i));
  EXPECT_TRUE(absl::IsResourceExhausted(gate->Admit("old", PassWith(5))));
  EXPECT_EQ(gate->common_floor(), FencingFloor());
  EXPECT_EQ(gate->Admit("new", PassWith(1017)), absl::OkStatus());
}

// One idle key that may not be folded hides none of the others, which grow old meanwhile.
TEST(FencingGate, FindsAPlaceOnceKeysAreNotLiveAnyMore) {
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  const auto by_of = GateFor(4);
  for (const char* key : {"1", "2", "3", "4", "2"}) ASSERT_TRUE(by_of->Of(key).ok()) << key;
  const auto two = GateFor(2);
  for (const char* key : {"1", "2"}) ASSERT_TRUE(two->Of(key).ok()) << key;
  const auto by_admit = GateFor(16);
  ASSERT_EQ(by_admit->Admit("forged", PassWith(kGreatest)), absl::OkStatus());
  for (int64_t i = 0; i < 30; ++i) {
    ASSERT_EQ(by_admit->Admit(absl::StrCat(i % 15), PassWith(1 + i % 15)), absl::OkStatus());
  }
  int of = 0, of_two = 0, admitted = 0;
  for (int64_t i = 0; i < 100; ++i) {
    const std::string key = absl::StrCat("new ", i);
    of += by_of->Of(key).ok() ? 1 : 0;
    of_two += two->Of(key).ok() ? 1 : 0;
    admitted += by_admit->Admit(key, PassWith(100 + i)).ok() ? 1 : 0;
  }
  EXPECT_GE(of, 98);
  EXPECT_GE(of_two, 50) << "of two keys one is live, until another one was refused";
  EXPECT_GE(admitted, 92);
  EXPECT_TRUE(absl::IsFailedPrecondition(by_admit->Admit("forged", PassWith(kGreatest - 1))));
}

TEST(FencingGate, AKeyThatWasLetGoOfIsLiveSinceItsLastPass) {
  const auto gate = GateFor(8);
  {
    FencingKey key = *gate->Of("a");
    ASSERT_EQ(key.Admit(PassWith(1)), absl::OkStatus());
    for (int64_t i = 1; i <= 20; ++i) (void)gate->Admit(absl::StrCat(i), PassWith(10 + i));
    ASSERT_EQ(key.Admit(PassWith(1)), absl::OkStatus());
  }
  for (int64_t i = 21; i <= 23; ++i) (void)gate->Admit(absl::StrCat(i), PassWith(10 + i));
  EXPECT_EQ(gate->Admit("a", PassWith(1)), absl::OkStatus()) << "three others have come since";
  for (int64_t i = 24; i <= 40; ++i) (void)gate->Admit(absl::StrCat(i), PassWith(10 + i));
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit("a", PassWith(1))));
}

TEST(FencingGate, KeysThatAreRefusedAgainAndAgainMakeNoOtherOld) {
  const auto gate = GateFor(16);
  const auto show_all = [&gate] {
    for (int64_t i = 1; i <= 16; ++i) {
      ASSERT_EQ(gate->Admit(absl::StrCat(i), PassWith(i)), absl::OkStatus()) << i;
    }
  };
  for (int turn = 0; turn < 2; ++turn) show_all();
  for (int64_t i = 0; i < 100; ++i) {
    const std::string key = absl::StrCat("new ", i % 7);
    ASSERT_TRUE(absl::IsResourceExhausted(gate->Admit(key, PassWith(100)))) << i;
    ASSERT_TRUE(absl::IsResourceExhausted(gate->Of(key).status())) << i;
  }
  show_all();
}

// Its own floor is gone by then, and the common one is not yet raised.
TEST(FencingGate, AStalePassForAKeyThatIsBeingFoldedIsRefused) {
  Memory::Kept kept;
  const auto gate = GateOn(kept, 1);
  ASSERT_EQ(gate->Admit("folded", PassWith(10)), absl::OkStatus());
  absl::Status stale;
  std::jthread other;
  kept.while_saving = [&, once = true]() mutable {
    if (!std::exchange(once, false)) return;
    other = std::jthread([&] { stale = gate->Admit("folded", PassWith(5)); });
    for (int i = 0; i < 10'000 && gate->keys() == 0; ++i) std::this_thread::yield();
  };
  EXPECT_EQ(gate->Admit("new", PassWith(11)), absl::OkStatus());
  other.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(stale)) << stale;
}

// A holder whose key was folded, with the common floor itself for its token: its new place must
// outlive a restart, since the common floor may be above it by then.
TEST(FencingGate, AHolderThatComesBackAfterItsKeyWasFoldedHasAPlaceAgain) {
  Memory::Kept kept;
  const auto gate = GateOn(kept, 4);
  const auto admit = [&gate](const std::string& key, int64_t token) {
    EXPECT_EQ(gate->Admit(key, PassWith(token)), absl::OkStatus()) << key;
    return gate->common_floor().exclusive.value();
  };
  for (const char* key : {"a", "b"}) EXPECT_EQ(admit(key, 1), 0);
  for (const char* key : {"c", "d"}) EXPECT_EQ(admit(key, 5), 0);
  EXPECT_EQ(admit("e", 6), 1);
  const std::string folded = kept.floors.contains("ka") ? "b" : "a";
  EXPECT_EQ(admit(folded, 1), 1);
  EXPECT_EQ(admit("f", 7), 5);
  EXPECT_EQ(admit(folded, 1), 5);
  EXPECT_EQ(GateOn(kept, 4)->Admit(folded, PassWith(1)), absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes
