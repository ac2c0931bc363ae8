// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fenced_http.h"

#include <limits>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"

#include "lib/fencing/two_turns_fixture.h"

namespace zkrecipes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(FencedHttp, APassIsReadAsItWasWritten) {
  for (const int64_t token : {int64_t{1}, int64_t{4294967302}, kMost}) {
    for (const int64_t epoch : {int64_t{0}, int64_t{1}, kMost}) {
      for (const GrantMode mode : {GrantMode::kExclusive, GrantMode::kShared, GrantMode::kLeader}) {
        const FencingPass pass = {FencingToken(token), mode, epoch, epoch};
        const auto read = ParseFencingTokenHeader(ToHttpHeader(pass));
        ASSERT_TRUE(read.ok()) << read.status();
        EXPECT_EQ(*read, pass);
      }
    }
  }
}

TEST(FencedHttp, ATokenAloneIsAnExclusiveHolders) {
  EXPECT_EQ(ToHttpHeader(FencingPass{.token = FencingToken(7)}), "7");
  EXPECT_EQ(ParseFencingTokenHeader("7")->mode, GrantMode::kExclusive);
  EXPECT_EQ(
      ToHttpHeader(FencingPass{.token = FencingToken(7), .mode = GrantMode::kShared, .epoch = 1}),
      "7; epoch=1; mode=shared");
  EXPECT_EQ(ParseFencingTokenHeader("7;mode=shared;epoch=1")->epoch, 1);
  EXPECT_EQ(ToHttpHeader(FencingPass{.token = FencingToken(7), .turn = 5}), "7; turn=5");
  EXPECT_EQ(ParseFencingTokenHeader("7")->turn, 0);
}

TEST(FencedHttp, RefusesHostileHeaders) {
  const std::vector<std::string> hostile = absl::StrSplit(
      "| |0|-1|+7| 7|7 |07|7.0|0x7|7e3|7,8|7\r\nHost: x|7;|7; |;|7;;|7; epoch|"
      "7; epoch=|7; epoch=-1|7; epoch=01|7; epoch= 1|7; epoch=1 |7; epoch=1; epoch=1|"
      "7; Epoch=1|7;  epoch=1|7; turn=-1|7; turn=1; turn=1|7; turn=|7; mode=|7; mode=Shared|7; "
      "mode=owner|7; mode=\"shared\"|"
      "7; admit=all|7; =1|9223372036854775808|99999999999999999999999999|"
      "7; epoch=9223372036854775808|epoch=1; 7|seven",
      '|');
  for (const std::string& value : hostile) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseFencingTokenHeader(value).status())) << value;
  }
  const std::string long_one(100'000, '7');
  EXPECT_LT(ParseFencingTokenHeader(long_one).status().message().size(), 1000u);
  EXPECT_FALSE(ParseFencingTokenHeader(std::string("7\0", 2)).ok());
  EXPECT_THAT(std::string(ParseFencingTokenHeader("\x01\xff").status().message()),
              HasSubstr("\\x01\\xff"));
}

// An accepted header has one meaning, and another version writes it in the same way.
TEST(FencedHttp, WhateverAHeaderIsSpoiltToIsRefusedOrMeansWhatItSays) {
  const std::string alphabet = "0123456789;= -+,epochmdsharxluitn\t\r\n\xff\"";
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string value =
        i % 2 == 0 ? "4294967302; epoch=12; mode=shared" : "7; mode=leader; turn=31";
    for (uint32_t edits = 1 + random() % 3; edits > 0; --edits) {
      value[random() % value.size()] = alphabet[random() % alphabet.size()];
    }
    const auto pass = ParseFencingTokenHeader(value);
    if (!pass.ok()) continue;
    ++accepted;
    ASSERT_GT(pass->token, FencingToken()) << value;
    ASSERT_GE(pass->epoch, 0) << value;
    ASSERT_GE(pass->turn, 0) << value;
    const auto again = ParseFencingTokenHeader(ToHttpHeader(*pass));
    ASSERT_TRUE(again.ok()) << value;
    ASSERT_EQ(ToHttpHeader(*again), ToHttpHeader(*pass)) << value;
    ASSERT_EQ(value.substr(0, value.find(';')), pass->token.ToString()) << value;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(FencedHttp, AFloorIsReadAsItWasWritten) {
  for (const FencingFloor& floor :
       {FencingFloor{}, FencingFloor{0, FencingToken(kMost), {}},
        FencingFloor{3, FencingToken(2), FencingToken(9)}, FencingFloor{1, {}, FencingToken(9)},
        FencingFloor{0, FencingToken(2), {}, kMost}}) {
    const auto read = ParseFencingFloorHeader(ToHttpHeader(floor));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, floor);
  }
  for (const std::string value : {"", "-1", "7; mode=shared", "7; shared=x", "7; shared"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseFencingFloorHeader(value).status())) << value;
  }
}

class AdmitRequestTest : public ::testing::Test {
 protected:
  // 200 for what is admitted.
  int Ask(const std::vector<std::string>& values) {
    refusal_ = AdmitRequest(*gate_, "k", values).value_or(HttpRefusal{200});
    return refusal_.status;
  }
  const std::unique_ptr<FencingGate> gate_ = *FencingGate::Open();
  HttpRefusal refusal_;
};

TEST_F(AdmitRequestTest, AStaleOneGets412WithTheFloor) {
  EXPECT_EQ(Ask({"7; epoch=1"}), 200);
  EXPECT_EQ(Ask({"9; epoch=1; mode=shared"}), 200);
  EXPECT_EQ(Ask({"8; epoch=1"}), 412);
  EXPECT_THAT(refusal_.headers, ElementsAre(Pair("Fencing-Floor", "7; epoch=1; shared=9")));
  EXPECT_THAT(refusal_.body, HasSubstr("stale"));
  EXPECT_EQ(Ask({"10"}), 412) << "the epoch counts first";
}

TEST_F(AdmitRequestTest, ATurnThatIsOverGets412AndAReadersTurn400) {
  EXPECT_EQ(Ask({"7; turn=2"}), 200);
  EXPECT_EQ(Ask({"7; turn=1"}), 412);
  EXPECT_THAT(refusal_.headers, ElementsAre(Pair("Fencing-Floor", "7; turn=2")));
  EXPECT_THAT(refusal_.body, HasSubstr("turn 1 of the token 7 (exclusive) is over"));
  EXPECT_EQ(Ask({"8; mode=shared; turn=1"}), 400);
  EXPECT_EQ(Ask({"8; turn=1"}), 200);
}

TEST_F(AdmitRequestTest, OneWithoutATokenGets428AndAMalformedOne400) {
  EXPECT_EQ(Ask({}), 428);
  EXPECT_EQ(Ask({"7", "8"}), 400);
  EXPECT_EQ(Ask({"0"}), 400);
  EXPECT_EQ(Ask({"seven"}), 400);
  EXPECT_THAT(refusal_.headers, IsEmpty());
  EXPECT_EQ(gate_->keys(), 0u) << "what is refused anyway takes no place";
}

// A service of one value, whose requests are judged and act in steps.
class SteppedService {
 public:
  explicit SteppedService(bool locks) : locks_(locks) {}
  // After both requests, in every order: whether the older one's value stayed in any.
  bool TheOlderOneMayStay() {
    bool stays = false;
    do {
      gate_ = *FencingGate::Open();
      EXPECT_TRUE(turns_.Run({[this] { Put(0, "7"); }, [this] { Put(1, "8"); }}));
      stays |= value_ == "7";
    } while (turns_.NextOrder());
    return stays;
  }

 private:
  void Put(int actor, const std::string& token) {
    turns_.Step(actor);
    while (locks_ && busy_) turns_.Block(actor);
    busy_ = true;
    const bool admitted = !AdmitRequest(*gate_, "k", {token});
    turns_.Step(actor);
    if (admitted) value_ = token;
    busy_ = false;
    turns_.Freed(actor);
  }

  const bool locks_;
  fencing::TwoTurns turns_;
  std::unique_ptr<FencingGate> gate_;
  bool busy_ = false;
  std::string value_;
};

TEST(FencedHttp, AServiceMustJudgeInsideTheOperation) {
  EXPECT_FALSE(SteppedService(/*locks=*/true).TheOlderOneMayStay());
  EXPECT_TRUE(SteppedService(/*locks=*/false).TheOlderOneMayStay());
}

class FailingStore : public FloorStore {
  absl::Status Load(absl::FunctionRef<void(const std::string&, const FencingFloor&)>) override {
    return absl::OkStatus();
  }
  absl::Status Save(const std::string&, const FencingFloor&) override {
    return absl::UnavailableError("the disk is full");
  }
  absl::Status Forget(const std::string&) override { return absl::OkStatus(); }
};

TEST(FencedHttp, AFloorThatCannotBeSavedAdmitsNobody) {
  auto gate = *FencingGate::Open({.store = std::make_unique<FailingStore>()});
  const auto refusal = AdmitRequest(*gate, "k", {"7"});
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status, 503);
  FencingKey key = *gate->Of("k");
  EXPECT_EQ(AdmitRequest(key, {"7"})->status, 503);
}

TEST(FencedHttp, TheClientTellsARefusalFromOther412) {
  const absl::Status stale = CheckHttpAnswer(412, "7; epoch=1");
  EXPECT_TRUE(absl::IsFailedPrecondition(stale));
  EXPECT_THAT(std::string(stale.message()), HasSubstr("7; epoch=1"));
  EXPECT_EQ(CheckHttpAnswer(412, ""), absl::OkStatus());
  EXPECT_EQ(CheckHttpAnswer(200, ""), absl::OkStatus());
  EXPECT_EQ(CheckHttpAnswer(503, "7"), absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes
