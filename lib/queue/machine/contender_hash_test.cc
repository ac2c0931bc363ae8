// SPDX-License-Identifier: Apache-2.0
//
// A contender is a value with a complete hash. Each pair of stories below ends in machines that
// differ in the one field it is named after.

#include <vector>

#include "absl/hash/hash.h"
#include "absl/hash/hash_testing.h"
#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"

namespace zkrecipes::queue {
namespace {

using zk::Code;

const event::Connected kUp = {7, std::string(32, 'a')};
const event::Disconnected kDown;
const event::OwnWatchDue kOwnWatchDue;

const std::string kPrefix = "_c_" + std::string(32, 'a') + "-lock-";
const std::string kMine = kPrefix + "0000000005";
const std::string kOther1 = "_c_" + std::string(32, '0') + "-lock-0000000001";
const std::string kOther2 = "_c_" + std::string(32, '0') + "-lock-0000000002";

Event Created(OpId op, const std::string& name = kMine, int64_t czxid = 1005) {
  zk::Reply reply;
  reply.path = "/a/b/c/" + name;
  reply.stat.czxid = czxid;
  reply.stat.ephemeral_owner = 7;
  return event::Replied{op, reply};
}

Event Listed(OpId op, const std::vector<std::string>& children) {
  zk::Reply reply;
  reply.children = children;
  return event::Replied{op, reply};
}

Event Replied(OpId op, Code code) {
  zk::Reply reply;
  reply.code = code;
  return event::Replied{op, reply};
}

ContenderSpec Spec() {
  ContenderSpec spec;
  spec.parent = "/a/b/c";
  return spec;
}

Contender After(const std::vector<Event>& events, const ContenderSpec& spec = Spec()) {
  Contender contender(spec);
  for (const Event& event : events) (void)contender.On(event);
  return contender;
}

std::vector<Event> And(std::vector<Event> events, const std::vector<Event>& more) {
  events.insert(events.end(), more.begin(), more.end());
  return events;
}

const std::vector<Event> kWatching = {kUp, Created(1), Listed(2, {kOther1, kOther2, kMine})};
const std::vector<Event> kHeld = {kUp, Created(1), Listed(2, {kMine})};
// Found again, its stat known, and asked once more: get is 7, list is 8.
const std::vector<Event> kAdopting = {
    kUp, kDown, kUp, Replied(3, Code::kNoNode), Listed(4, {kMine}), Created(5), kDown, kUp};

void ExpectDifferent(const Contender& a, const Contender& b) {
  EXPECT_TRUE(a == Contender(a));
  EXPECT_FALSE(a == b);
  EXPECT_EQ(absl::HashOf(a), absl::HashOf(Contender(a)));
  EXPECT_NE(absl::HashOf(a), absl::HashOf(b));
}

TEST(ContenderHash, DependsOnEveryFieldOfTheSpec) {
  const Contender plain = After({});
  for (auto change :
       {+[](ContenderSpec& s) { s.parent = "/q"; },
        +[](ContenderSpec& s) { s.mode = Mode::kLeader; },
        +[](ContenderSpec& s) { s.dialect = Dialect::kKazoo; },
        +[](ContenderSpec& s) { s.data = "x"; }, +[](ContenderSpec& s) { s.try_only = true; },
        +[](ContenderSpec& s) { s.strict = true; },
        +[](ContenderSpec& s) { s.wait_for_proof = true; },
        +[](ContenderSpec& s) { s.follows.node = "n"; },
        +[](ContenderSpec& s) { s.follows.session = 7; },
        +[](ContenderSpec& s) { s.follows.token = 5; }}) {
    ContenderSpec spec = Spec();
    change(spec);
    ExpectDifferent(plain, After({}, spec));
    EXPECT_FALSE(spec == Spec());
  }
}

TEST(ContenderHash, DependsOnTheState) { ExpectDifferent(After({}), After({event::Leave{}})); }

TEST(ContenderHash, DependsOnTheConnection) {
  ExpectDifferent(After(kHeld), After(And(kHeld, {kDown})));
}

TEST(ContenderHash, DependsOnTheSession) {
  ExpectDifferent(After({kUp}), After({event::Connected{8, kUp.guid}}));
}

TEST(ContenderHash, DependsOnTheGuid) {
  ExpectDifferent(After({kUp}), After({event::Connected{7, std::string(32, 'b')}}));
}

TEST(ContenderHash, DependsOnTheNode) {
  ExpectDifferent(After({kUp, Created(1)}), After({kUp, Created(1, kPrefix + "0000000006")}));
}

TEST(ContenderHash, DependsOnTheStat) {
  ExpectDifferent(After({kUp, Created(1)}), After({kUp, Created(1, kMine, 1006)}));
}

TEST(ContenderHash, DependsOnTheMissingParent) {
  const std::vector<Event> making = {kUp, Replied(1, Code::kNoNode), Replied(3, Code::kNoNode)};
  ExpectDifferent(After(And(making, {Replied(4, Code::kNoNode)})),
                  After(And(making, {Replied(4, Code::kOk)})));
}

TEST(ContenderHash, DependsOnTheLowerSet) {
  ExpectDifferent(After(kWatching), After({kUp, Created(1), Listed(2, {kOther2, kMine})}));
}

TEST(ContenderHash, DependsOnTheNextOperation) {
  ExpectDifferent(After(kHeld), After({kUp, Created(1), kDown, kUp, Listed(3, {kMine})}));
}

TEST(ContenderHash, DependsOnTheMainRequest) {
  ExpectDifferent(After(kWatching), After(And(kWatching, {Replied(3, Code::kOk)})));
}

TEST(ContenderHash, DependsOnTheListing) {
  const std::vector<Event> listing = {kUp, Created(1), kDown, kUp};
  ExpectDifferent(After(listing), After(And(listing, {Replied(3, Code::kOperationTimeout)})));
}

TEST(ContenderHash, DependsOnTheRequestForItsOwnWatch) {
  const std::vector<Event> asked = And(kHeld, {kOwnWatchDue});
  ExpectDifferent(After(asked), After(And(asked, {Replied(3, Code::kThrottled)})));
}

TEST(ContenderHash, DependsOnItsOwnWatch) {
  const std::vector<Event> asked = And(kHeld, {kOwnWatchDue});
  ExpectDifferent(After(And(asked, {Replied(3, Code::kOk)})),
                  After(And(asked, {Replied(3, Code::kNoAuth)})));
}

TEST(ContenderHash, DependsOnTheOutcome) {
  const std::vector<Event> create = {kUp};
  ExpectDifferent(After({kUp, Replied(1, Code::kOperationTimeout)}),
                  After({kUp, Replied(1, Code::kOperationTimeout), event::Leave{}}));
}

TEST(ContenderHash, DependsOnTheRefusalsCode) {
  ExpectDifferent(After({kUp, Replied(1, Code::kNoAuth)}),
                  After({kUp, Replied(1, Code::kQuotaExceeded)}));
}

TEST(ContenderHash, DependsOnWhatWasRefused) {
  ExpectDifferent(After(And(kAdopting, {Replied(7, Code::kNoAuth)})),
                  After(And(kAdopting, {Created(7), Replied(8, Code::kNoAuth)})));
}

TEST(ContenderHash, AgreesWithEquality) {
  std::vector<Contender> contenders;
  for (const std::vector<Event>& story : {kWatching, kHeld, kAdopting}) {
    for (size_t length = 0; length <= story.size(); ++length) {
      contenders.push_back(After({story.begin(), story.begin() + static_cast<long>(length)}));
    }
  }
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(contenders));
}

// action::Finished is compared and hashed within a contender.
TEST(ContenderHash, DependsOnEveryFieldOfItsLastWord) {
  const action::Finished refused = {Outcome::kRefused, Code::kNoAuth, "list", "/q"};
  std::vector<action::Finished> all = {refused, refused, refused, refused, refused};
  all[1].outcome = Outcome::kLost;
  all[2].code = Code::kNoNode;
  all[3].what = "get";
  all[4].path = "/p";
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_FALSE(all[i] == refused);
    EXPECT_NE(absl::HashOf(all[i]), absl::HashOf(refused));
  }
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(all));
}

}  // namespace
}  // namespace zkrecipes::queue
