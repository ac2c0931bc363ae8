// SPDX-License-Identifier: Apache-2.0
//
// A fenced object in a store in memory, which loses requests and answers, and delays them.

#include "zkrecipes/fencing/fenced_object.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/fencing/fenced_body.h"
#include "lib/fencing/object_store_fixture.h"
#include "lib/fencing/two_turns_fixture.h"

namespace zkrecipes::fencing {
namespace {

FencingPass PassWith(int64_t token) { return {.token = FencingToken(token)}; }

FencedObject In(StoredObject& store, PutFault fault = PutFault::kNone) {
  return FencedObject(std::make_unique<StoredObjectTransport>(store, fault));
}

StoredObject ACreatedOne() {
  StoredObject store;
  EXPECT_EQ(In(store).Create(), absl::OkStatus());
  return store;
}

// How many puts with this data were done.
int64_t Puts(const StoredObject& store, const std::string& data) {
  return std::ranges::count_if(
      store.puts, [&](const std::string& body) { return absl::EndsWith(body, "\n" + data); });
}

constexpr PutFault kFaults[] = {PutFault::kNone,         PutFault::kLostRequest,
                                PutFault::kLostAnswer,   PutFault::kLateBeforeGet,
                                PutFault::kLateAfterGet, PutFault::kLateAtTheEnd,
                                PutFault::kRepeated};

TEST(FencedObjectTest, WhatWasClaimedIsNotChangedByAnOlderHolder) {
  StoredObject store = ACreatedOne();
  EXPECT_EQ(In(store).Write(PassWith(1), "a"), absl::OkStatus());
  EXPECT_EQ(*In(store).Claim(PassWith(2)), "a");
  EXPECT_TRUE(absl::IsFailedPrecondition(In(store).Write(PassWith(1), "b")));
  const size_t puts = store.puts.size();
  EXPECT_EQ(*In(store).Claim(PassWith(2)), "a");
  EXPECT_EQ(store.puts.size(), puts) << "a claim that changes nothing puts nothing";
}

TEST(FencedObjectTest, AWriteWhoseAnswerIsLostIsDoneOnce) {
  for (const PutFault fault : kFaults) {
    SCOPED_TRACE(static_cast<int>(fault));
    StoredObject store = ACreatedOne();
    EXPECT_EQ(In(store, fault).Write(PassWith(1), "a"), absl::OkStatus());
    EXPECT_EQ(In(store).Write(PassWith(1), "b"), absl::OkStatus());
    for (const auto& arrives : store.late) arrives();
    EXPECT_EQ(In(store).Read()->data, "b");
    EXPECT_EQ(Puts(store, "a"), 1);
  }
}

TEST(FencedObjectTest, AWriteWithoutAnAnswerIsNotDoneAgainOverOneThatFollowedIt) {
  StoredObject store = ACreatedOne();
  EXPECT_EQ(In(store).Write(PassWith(1), "before"), absl::OkStatus());
  int requests = 0;
  FencedObject object(std::make_unique<StoredObjectTransport>(store, PutFault::kLostAnswer, [&] {
    // Its first get and put, and the get that looks what became of the put.
    if (++requests == 3) {
      EXPECT_EQ(In(store).Write(PassWith(1), "b"), absl::OkStatus());
    }
  }));
  const absl::Status status = object.Write(PassWith(1), "a");
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(In(store).Read()->data, "b");
  EXPECT_EQ(Puts(store, "a"), 1);
}

TEST(FencedObjectTest, AnOlderWriterNeverOverwritesANewerOneInAnyOrderAndWhateverIsLost) {
  int runs = 0, refused = 0;
  for (const PutFault old_fault : kFaults) {
    for (const PutFault new_fault : kFaults) {
      SCOPED_TRACE(absl::StrCat(static_cast<int>(old_fault), ", ", static_cast<int>(new_fault)));
      TwoTurns turns;
      do {
        StoredObject store = ACreatedOne();
        FencedObject older(
            std::make_unique<StoredObjectTransport>(store, old_fault, [&] { turns.Step(0); }));
        FencedObject newer(
            std::make_unique<StoredObjectTransport>(store, new_fault, [&] { turns.Step(1); }));
        absl::Status old_answer, new_answer;
        turns.Run({[&] { old_answer = older.Write(PassWith(1), "old"); },
                   [&] { new_answer = newer.Write(PassWith(2), "new"); }});
        for (const auto& arrives : store.late) arrives();
        ASSERT_EQ(new_answer, absl::OkStatus());
        ASSERT_TRUE(old_answer.ok() || absl::IsFailedPrecondition(old_answer)) << old_answer;
        ASSERT_EQ(In(store).Read()->data, "new");
        ASSERT_EQ(Puts(store, "new"), 1);
        ASSERT_LE(Puts(store, "old"), 1);
        if (old_answer.ok()) {
          ASSERT_EQ(Puts(store, "old"), 1);
        }
        refused += !old_answer.ok();
        ++runs;
      } while (turns.NextOrder());
    }
  }
  EXPECT_GT(runs, 300);
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, runs);
}

TEST(FencedObjectTest, IsCreatedOnceWhateverIsLost) {
  for (const PutFault fault : kFaults) {
    StoredObject store;
    EXPECT_EQ(In(store, fault).Create(), absl::OkStatus());
    EXPECT_TRUE(absl::IsAlreadyExists(In(store).Create()));
    EXPECT_EQ(In(store).Write(PassWith(1), "a"), absl::OkStatus());
    for (const auto& arrives : store.late) arrives();
    EXPECT_EQ(In(store).Read()->data, "a");
  }
}

// The trap of every "create if absent" fence: once what it stands on is collected, it stops nobody.
TEST(FencedObjectTest, OneThatWasCollectedIsNotCreatedByAWriteSinceThatWouldAdmitWhoIsStale) {
  StoredObject store = ACreatedOne();
  EXPECT_EQ(In(store).Write(PassWith(9), "newest"), absl::OkStatus());
  store.body.reset();  // by a lifecycle rule
  EXPECT_TRUE(absl::IsNotFound(In(store).Write(PassWith(1), "stale")));
  EXPECT_TRUE(absl::IsNotFound(In(store).Claim(PassWith(1)).status()));
  EXPECT_TRUE(absl::IsNotFound(In(store).Read().status()));
  // The trap itself, for whoever creates it at each start.
  EXPECT_EQ(In(store).Create(), absl::OkStatus());
  EXPECT_EQ(In(store).Write(PassWith(1), "stale"), absl::OkStatus());
}

TEST(FencedObjectTest, DataThatIsNotWantedAnyMoreLeavesTheFloor) {
  StoredObject store = ACreatedOne();
  EXPECT_EQ(In(store).Write(PassWith(9), "secret"), absl::OkStatus());
  EXPECT_EQ(In(store).Write(PassWith(9), ""), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(In(store).Write(PassWith(8), "stale")));
}

TEST(FencedObjectTest, AStoreThatIgnoresConditionsIsFoundOutAndNeverWrittenTo) {
  StoredObject store{.ignores_conditions = true};
  const absl::Status created = In(store).Create();
  EXPECT_TRUE(absl::IsUnimplemented(created)) << created;
  EXPECT_TRUE(absl::IsAlreadyExists(In(store).Create()));
  EXPECT_TRUE(absl::IsDataLoss(In(store).Write(PassWith(1), "a")));
}

TEST(FencedObjectTest, AStoreThatIgnoresIfMatchOnceThereIsAnObjectIsFoundOut) {
  StoredObject store{.ignores_if_match = true};
  const absl::Status created = In(store).Create();
  EXPECT_TRUE(absl::IsUnimplemented(created)) << created;
  EXPECT_TRUE(absl::IsDataLoss(In(store).Write(PassWith(1), "a"))) << "it is never written to";
}

TEST(FencedObjectTest, AWeakEtagIsRefusedAtOnce) {
  StoredObject weak{.etag_prefix = "W/"};
  const absl::Status created = In(weak).Create();
  EXPECT_TRUE(absl::IsInvalidArgument(created)) << created;
  EXPECT_THAT(std::string(created.message()), ::testing::HasSubstr("the weak ETag W/\""));
  StoredObject store = ACreatedOne();
  store.etag_prefix = "W/";
  const size_t puts = store.puts.size();
  EXPECT_TRUE(absl::IsInvalidArgument(In(store).Write(PassWith(1), "a")));
  EXPECT_EQ(store.puts.size(), puts);
}

TEST(FencedObjectTest, AStoreThatIsBusyIsAskedAgainAfterGrowingPausesWithinABound) {
  StoredObject store = ACreatedOne();
  EXPECT_TRUE(store.pauses.empty());
  store.busy = 5;
  EXPECT_EQ(In(store).Write(PassWith(1), "a"), absl::OkStatus());
  EXPECT_EQ(Puts(store, "a"), 1);
  ASSERT_EQ(store.pauses.size(), 5u);
  for (size_t i = 1; i < store.pauses.size(); ++i) {
    EXPECT_EQ(store.pauses[i], 2 * store.pauses[i - 1]);
  }
  store.pauses.clear();
  store.busy = 1 << 20;
  EXPECT_TRUE(absl::IsUnavailable(In(store).Write(PassWith(1), "b")));
  EXPECT_TRUE(absl::IsUnavailable(In(store).Create()));
  EXPECT_LT(store.pauses.size(), 64u);
  EXPECT_LE(*std::ranges::max_element(store.pauses), absl::Seconds(2));
  store.busy = 0;
  EXPECT_EQ(In(store).Read()->data, "a");
}

TEST(FencedObjectTest, AWriterOvercomesSomeConflicts) {
  StoredObject store = ACreatedOne();
  store.conflicts = 2;
  EXPECT_EQ(In(store).Write(PassWith(7), "a"), absl::OkStatus());
  store.conflicts = 1000;
  EXPECT_TRUE(absl::IsUnavailable(In(store).Write(PassWith(7), "b")));
  EXPECT_EQ(In(store).Read()->data, "a");
}

// Its first put has no answer until the end; the store refuses all that follow, as when the
// client's credentials have run out.
class RefusedLater : public StoredObjectTransport {
 public:
  explicit RefusedLater(StoredObject& store)
      : StoredObjectTransport(store, PutFault::kLateAtTheEnd) {}
  absl::StatusOr<PutResult> PutIfMatch(const std::string& body, const std::string& etag) override {
    if (puts_++ > 0) return absl::PermissionDeniedError("403");
    return StoredObjectTransport::PutIfMatch(body, etag);
  }

 private:
  int puts_ = 0;
};

TEST(FencedObjectTest, ALaterRefusalDoesNotHideAPutWithoutAnAnswer) {
  StoredObject store = ACreatedOne();
  FencedObject object(std::make_unique<RefusedLater>(store));
  const absl::Status unknown = object.Write(PassWith(7), "a");
  EXPECT_TRUE(absl::IsUnavailable(unknown)) << unknown;
  EXPECT_THAT(unknown.message(), testing::HasSubstr("403; not known whether"));
  EXPECT_EQ(In(store).Read()->data, "");
  for (const auto& request : store.late) request();
  EXPECT_EQ(In(store).Read()->data, "a");
  EXPECT_TRUE(absl::IsPermissionDenied(object.Write(PassWith(7), "b"))) << "nothing is under way";
}

TEST(FencedObjectTest, NothingIsPutWithoutACondition) {
  StoredObject store = ACreatedOne();
  store.ignores_conditions = store.tells_no_etag = true;  // as of a request without If-Match
  const size_t puts = store.puts.size();
  EXPECT_TRUE(absl::IsInvalidArgument(In(store).Write(PassWith(7), "a")));
  EXPECT_EQ(store.puts.size(), puts);
}

TEST(FencedObjectTest, WhatIsDamagedIsNotWritten) {
  StoredObject store{.body = "somebody's own"};
  EXPECT_TRUE(absl::IsDataLoss(In(store).Write(PassWith(1), "a")));
  EXPECT_TRUE(absl::IsDataLoss(In(store).Read().status()));
  EXPECT_EQ(store.body, "somebody's own");
}

TEST(FencedObjectTest, KnowsWhatAnHttpAnswerMeans) {
  for (const int status : {200, 201, 204}) EXPECT_EQ(*PutResultOf(status), PutResult::kDone);
  for (const int status : {404, 409, 412}) EXPECT_EQ(*PutResultOf(status), PutResult::kNotDone);
  for (const int status : {0, 307, 408, 429, 500, 503})
    EXPECT_EQ(*PutResultOf(status), PutResult::kUnknown);
  EXPECT_TRUE(absl::IsPermissionDenied(PutResultOf(403).status()));
  EXPECT_TRUE(absl::IsUnimplemented(PutResultOf(501).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(PutResultOf(400).status()));
}

FencedBody ABody(const std::string& data) {
  return {{3, FencingToken(4294967302), FencingToken(7)}, "a-guid", data};
}

TEST(FencedBodyTest, IsReadAsItWasWritten) {
  for (const std::string& data : {std::string(), std::string("x"), std::string("a\nb\0c", 5)}) {
    const auto read = ReadFencedBody(WriteFencedBody(ABody(data)));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, ABody(data));
  }
}

FencedBody OneWithATurn() {
  FencedBody body = ABody("data");
  body.floor.turn = 5;
  return body;
}

// Every later version must read the bodies that are on disks and in buckets today.
TEST(FencedBodyTest, IsThisText) {
  EXPECT_EQ(WriteFencedBody(ABody("data")),
            "zkrecipes fenced 1 3 4294967302 7 a-guid 68e63ed1\ndata");
  EXPECT_EQ(WriteFencedBody(OneWithATurn()),
            "zkrecipes fenced 1 3 4294967302 7 a-guid 5 e02bad60\ndata");
  EXPECT_EQ(*ReadFencedBody(WriteFencedBody(OneWithATurn())), OneWithATurn());
}

TEST(FencedBodyTest, ATurnThatIsNoneIsDataLoss) {
  FencedBody body = ABody("data");
  for (const std::string turn : {" 0", " -1", " 05", " x", " 5 6"}) {
    body.write = "a-guid" + turn;
    EXPECT_TRUE(absl::IsDataLoss(ReadFencedBody(WriteFencedBody(body)).status())) << turn;
  }
}

TEST(FencedBodyTest, AnythingElseIsDataLossAndNeverAFloorOfZero) {
  const std::string whole = WriteFencedBody(ABody("data"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(ReadFencedBody(whole.substr(0, size)).status())) << size;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string spoilt = whole;
      spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << bit));
      EXPECT_TRUE(absl::IsDataLoss(ReadFencedBody(spoilt).status())) << spoilt;
    }
  }
  for (const std::string& other : {whole + "x", "x" + whole, std::string(1000, '\0')}) {
    EXPECT_TRUE(absl::IsDataLoss(ReadFencedBody(other).status())) << other;
  }
}

}  // namespace
}  // namespace zkrecipes::fencing
