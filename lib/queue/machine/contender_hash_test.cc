// SPDX-License-Identifier: Apache-2.0
//
// A contender is a value with a complete hash. Each pair of stories below ends in machines that
// differ in the field it is named after.

#include <vector>

#include "absl/hash/hash.h"
#include "absl/hash/hash_testing.h"
#include <gtest/gtest.h>

#include "lib/queue/machine/contender.h"

namespace zkrecipes::queue::machine {
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
  return event::Replied{op,
                        {.path = "/a/b/c/" + name, .stat = {.czxid = czxid, .ephemeral_owner = 7}}};
}

Event Listed(OpId op, const zk::Names& children) {
  return event::Replied{op, {.children = children}};
}

Event Replied(OpId op, Code code) { return event::Replied{op, {.code = code}}; }

Candidacy Asked() { return {.parent = "/a/b/c"}; }

Contender After(const std::vector<Event>& events, const Candidacy& candidacy = Asked()) {
  Contender contender(candidacy);
  for (const Event& event : events) (void)contender.On(Event(event));
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

TEST(ContenderHash, DependsOnEveryFieldOfTheCandidacy) {
  const Contender plain = After({});
  for (auto change :
       {+[](Candidacy& s) { s.parent = "/q"; }, +[](Candidacy& s) { s.mode = Mode::kLeader; },
        +[](Candidacy& s) { s.dialect = Dialect::kKazoo; }, +[](Candidacy& s) { s.data = "x"; },
        +[](Candidacy& s) { s.try_only = true; },
        +[](Candidacy& s) { s.lock_delay = absl::Seconds(1); },
        +[](Candidacy& s) { s.named_as = Mode::kExclusive; },
        +[](Candidacy& s) { s.beside_blind = true; }, +[](Candidacy& s) { s.permits = 2; },
        +[](Candidacy& s) {
          s.acl = {{31, "world", "anyone"}};
        },
        +[](Candidacy& s) { s.wait_for_proof = true; }, +[](Candidacy& s) { s.follows.node = "n"; },
        +[](Candidacy& s) { s.follows.session = 7; }, +[](Candidacy& s) { s.follows.token = 5; }}) {
    Candidacy candidacy = Asked();
    change(candidacy);
    ExpectDifferent(plain, After({}, candidacy));
    EXPECT_FALSE(candidacy == Asked());
  }
}

struct Pair {
  const char* field;
  Contender a, b;
};

std::vector<Pair> PairsThatDifferInOneField() {
  const auto no_answer = Replied(1, Code::kOperationTimeout);
  const std::vector<Event> making = {kUp, Replied(1, Code::kNoNode), Replied(3, Code::kNoNode)};
  const std::vector<Event> listing = {kUp, Created(1), kDown, kUp};
  const std::vector<Event> asked = And(kHeld, {kOwnWatchDue});
  return {
      {"state", After({}), After({event::Leave{}})},
      {"connected", After(kHeld), After(And(kHeld, {kDown}))},
      {"session", After({kUp}), After({event::Connected{8, kUp.guid}})},
      {"guid", After({kUp}), After({event::Connected{7, std::string(32, 'b')}})},
      {"node", After({kUp, Created(1)}), After({kUp, Created(1, kPrefix + "0000000006")})},
      {"stat", After({kUp, Created(1)}), After({kUp, Created(1, kMine, 1006)})},
      {"missing", After(And(making, {Replied(4, Code::kNoNode)})),
       After(And(making, {Replied(4, Code::kOk)}))},
      {"lower", After(kWatching), After({kUp, Created(1), Listed(2, {kOther2, kMine})})},
      {"next_op", After(kHeld), After({kUp, Created(1), kDown, kUp, Listed(3, {kMine})})},
      {"main_op", After(kWatching), After(And(kWatching, {Replied(3, Code::kOk)}))},
      {"list_op", After(listing), After(And(listing, {Replied(3, Code::kOperationTimeout)}))},
      {"own_watch_op", After(asked), After(And(asked, {Replied(3, Code::kThrottled)}))},
      {"own_watch", After(And(asked, {Replied(3, Code::kOk)})),
       After(And(asked, {Replied(3, Code::kNoAuth)}))},
      {"outcome", After({kUp, no_answer}), After({kUp, no_answer, event::Leave{}})},
      {"refusal's code", After({kUp, Replied(1, Code::kNoAuth)}),
       After({kUp, Replied(1, Code::kQuotaExceeded)})},
      {"what was refused", After(And(kAdopting, {Replied(7, Code::kNoAuth)})),
       After(And(kAdopting, {Created(7), Replied(8, Code::kNoAuth)}))},
  };
}

TEST(ContenderHash, DependsOnEveryField) {
  for (const auto& [field, a, b] : PairsThatDifferInOneField()) {
    SCOPED_TRACE(field);
    ExpectDifferent(a, b);
  }
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
  const action::Finished refused = {
      .outcome = Outcome::kRefused, .code = Code::kNoAuth, .what = "list", .path = "/q"};
  std::vector<action::Finished> all(6, refused);
  all[1].outcome = Outcome::kLost;
  all[2].code = Code::kNoNode;
  all[3].what = "get";
  all[4].path = "/p";
  all[5].unconfirmed = true;
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_FALSE(all[i] == refused);
    EXPECT_NE(absl::HashOf(all[i]), absl::HashOf(refused));
  }
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(all));
}

}  // namespace
}  // namespace zkrecipes::queue::machine
