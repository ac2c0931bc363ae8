// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "lib/queue/machine/contender_test_script.h"

namespace zkrecipes::queue::machine {
namespace {

using zk::Code;
using State = Contender::State;

std::string Own(int32_t n = 3) { return MineOf(Mode::kPermit, n); }
std::string Others(int32_t n) { return OtherOf(Mode::kPermit, n); }

// Node 3 of a semaphore of two permits, whose path says so, among `children`.
Script Queued(const zk::Names& children, const Candidacy& candidacy = Permit(2)) {
  Script script(candidacy);
  script.Connected().Expect("create a, get /q, list");
  script.Created(3).Expect("own timer").Number("2").Listed(children);
  return script;
}
// The first waiter, behind 1 and 2.
Script FirstWaiter() {
  Script script = Queued({Others(1), Others(2), Own()});
  script.Expect("watch other1, watch other2").Ok().Ok().ExpectNothing();
  return script;
}
// Behind 2, which waits; 0 and 1 hold.
Script SecondWaiter() {
  Script script = Queued({Others(0), Others(1), Others(2), Own()});
  script.Expect("watch existence other2").Armed(0).ExpectNothing();
  return script;
}

TEST(ContenderPermit, IsGrantedInOneFlightIfOneIsFree) {
  Queued({Others(1), Own()}).Expect("granted a3 token 1003 in 7");
}

TEST(ContenderPermit, LetsTheNextKnowThatItIsGranted) {
  Queued({Others(1), Own(), Others(4)}).Expect("let know by a3, granted a3 token 1003 in 7");
}

TEST(ContenderPermit, LetsTheNextKnowBeforeItsProof) {
  Candidacy candidacy = Permit(2);
  candidacy.wait_for_proof = true;
  Queued({Own(), Others(4)}, candidacy)
      .Expect("let know by a3")
      .ExpectState(State::kProving)
      .Ok()
      .Proven()
      .Expect("granted a3 token 1003 in 7");
}

TEST(ContenderPermit, LetsTheNextKnowAgainAfterAReconnection) {
  Queued({Own(), Others(4)})
      .Expect("let know by a3, granted a3 token 1003 in 7")
      .Reconnects()
      .Expect("let know by a3")
      .Ok()
      .Reconnects()
      .ExpectNothing();
}

TEST(ContenderPermit, LetsTheNextKnowAgainWithoutAnAnswer) {
  Queued({Own(), Others(4)})
      .Expect("let know by a3, granted a3 token 1003 in 7")
      .Fails(Code::kThrottled)
      .Expect("retry timer")
      .RetryDue()
      .Expect("let know by a3");
}

TEST(ContenderPermit, StaysGrantedIfItMayNotLetTheNextKnow) {
  Queued({Own(), Others(4)})
      .Expect("let know by a3, granted a3 token 1003 in 7")
      .Fails(Code::kNoAuth)
      .Reconnects()
      .ExpectState(State::kHeld)
      .ExpectNothing();
}

TEST(ContenderPermit, ListsOnceAnyOfThoseThatHoldIsGone) {
  FirstWaiter()
      .Deleted(Others(1))
      .Expect("get /q, list, unwatch other2")
      .Number("2")
      .Listed({Others(2), Own(), Others(4)})
      .Expect("let know by a3, granted a3 token 1003 in 7");
}

TEST(ContenderPermit, BelievesNoEventWithoutAListing) {
  FirstWaiter().IsProven().WatchesItself().Deleted(Others(1)).Expect(
      "get /q, list, unwatch other2");
}

TEST(ContenderPermit, ListsIfOneWentBeforeItsWatch) {
  Queued({Others(1), Others(2), Own()})
      .Expect("watch other1, watch other2")
      .Fails(Code::kNoNode)
      .Expect("unwatch other1, unwatch other2, get /q, list")
      .Ok()
      .Number("2")
      .Listed({Others(2), Own()})
      .Expect("granted a3 token 1003 in 7");
}

TEST(ContenderPermit, NamesTheNodeThatItMayNotWatch) {
  for (const bool last : {false, true}) {
    Script script = Queued({Others(1), Others(2), Own()});
    script.Expect("watch other1, watch other2");
    if (last) script.Ok();
    script.Fails(Code::kNoAuth).Expect("delete a3, unwatch other1, unwatch other2");
    EXPECT_EQ(script.machine().end().path, absl::StrCat("/q/", Others(last ? 2 : 1)));
  }
}

TEST(ContenderPermit, BecomesTheFirstWaiterWhenTheOneInFrontIsGranted) {
  SecondWaiter()
      .Set(Others(2))
      .Expect("get /q, list")
      .Number("2")
      .Listed({Others(1), Others(2), Own()})
      .Expect("unwatch other2, watch other1, watch other2");
}

// The set came between the listing and the watch.
TEST(ContenderPermit, ListsBehindAWatchOnDataThatWereSetBefore) {
  Queued({Others(0), Others(1), Others(2), Own()})
      .Expect("watch existence other2")
      .Armed(1)
      .Expect("get /q, list")
      .Number("2")
      .Listed({Others(0), Others(1), Others(2), Own()})
      .Expect("")  // a stranger's set: the watch is there
      .ExpectState(State::kWatching);
}

TEST(ContenderPermit, WatchesAgainAfterAStrangersSet) {
  SecondWaiter()
      .Set(Others(2))
      .Expect("get /q, list")
      .Number("2")
      .Listed({Others(0), Others(1), Others(2), Own()})
      .Expect("watch existence other2")
      .Armed(1)
      .ExpectNothing();
}

TEST(ContenderPermit, ListsWhenTheWaiterInFrontIsGone) {
  SecondWaiter().Deleted(Others(2)).Expect("get /q, list");
}

TEST(ContenderPermit, KeepsWhatItWatchesThroughAReconnection) {
  FirstWaiter().Reconnects().ExpectNothing().ExpectState(State::kWatching);
  SecondWaiter().Reconnects().ExpectNothing().ExpectState(State::kWatching);
}

TEST(ContenderPermit, ListsAfterAReconnectionIfAWatchMayBeMissing) {
  Queued({Others(1), Others(2), Own()})
      .Expect("watch other1, watch other2")
      .Ok()
      .Reconnects()
      .Expect("get /q, list")
      .Number("2")
      .Listed({Others(1), Others(2), Own()})
      .Expect("unwatch other1, unwatch other2, watch other1, watch other2");
}

TEST(ContenderPermit, ChecksByAListing) {
  FirstWaiter().CheckDue().Expect("unwatch other1, unwatch other2, get /q, list");
}

TEST(ContenderPermit, TakesItsWatchesOffWhenItLeaves) {
  FirstWaiter().Leave().Expect("delete a3, unwatch other1, unwatch other2");
  SecondWaiter().Leave().Expect("delete a3, unwatch other2");
}

TEST(ContenderPermit, LeavesWithoutLettingKnow) {
  Queued({Own(), Others(4)})
      .Expect("let know by a3, granted a3 token 1003 in 7")
      .Leave()
      .Expect("delete a3")
      .Fails(Code::kThrottled)
      .Ok()
      .Expect("finished: left");
}

// ---- The number of permits ----------------------------------------------------------------------

TEST(ContenderPermit, IsRefusedOnAPathOfAnotherNumber) {
  Script script(Permit(2));
  script.Connected().Created(3).Number("3").Listed({Own()});
  script.Expect("create a, get /q, list, own timer, delete a3")
      .Ok()
      .Expect("finished: other number");
  EXPECT_EQ(script.machine().end().what, "3");
}

TEST(ContenderPermit, WritesTheNumberWhereThereIsNone) {
  Script(Permit(2))
      .Connected()
      .Created(3)
      .Number("")
      .Listed({Own()})
      .Expect("create a, get /q, list, own timer, number 2")
      .Ok()
      .Expect("get /q, list")
      .Number("2")
      .Listed({Own()})
      .Expect("granted a3 token 1003 in 7");
}

TEST(ContenderPermit, LooksAgainIfAnotherWroteTheNumber) {
  Script(Permit(2))
      .Connected()
      .Created(3)
      .Number("")
      .Listed({Own()})
      .Expect("create a, get /q, list, own timer, number 2")
      .Fails(Code::kBadVersion)
      .Expect("get /q, list")
      .Number("5")
      .Listed({Own()})
      .Expect("delete a3");
}

TEST(ContenderPermit, MakesThePathWithTheNumber) {
  Script script(Permit(2));
  script.Connected().Fails(Code::kNoNode).Expect("create a, get /q, list, make /q");
  EXPECT_EQ(std::get<zk::Create>(script.last_request()).data, "2");
}

TEST(ContenderPermit, IsRefusedWhileItWaitsIfTheNumberIsChanged) {
  FirstWaiter()
      .Deleted(Others(1))
      .Expect("get /q, list, unwatch other2")
      .Number("1")
      .Listed({Others(2), Own()})
      .Expect("delete a3");
}

TEST(ContenderPermit, OfATryLooksFirst) {
  Candidacy candidacy = Permit(2);
  candidacy.try_only = true;
  Script(candidacy)
      .Connected()
      .Expect("get /q, list")
      .Number("2")
      .Listed({Others(1), Others(2)})
      .Expect("finished: busy");
  Script(candidacy)
      .Connected()
      .Expect("get /q, list")
      .Number("2")
      .Listed({Others(1)})
      .Expect("create a, get /q, list");
  Script(candidacy)
      .Connected()
      .Expect("get /q, list")
      .Fails(Code::kNoNode)
      .Fails(Code::kNoNode)
      .Expect("create a, get /q, list");
}

TEST(ContenderPermit, StartsAgainWithoutANumberThatIsNotAnswered) {
  Script(Permit(2))
      .Connected()
      .Expect("create a, get /q, list")
      .Created(3)
      .Expect("own timer")
      .Fails(Code::kConnectionLoss)
      .Expect("retry timer")
      .ExpectState(State::kListing)
      .RetryDue()
      .Expect("get /q, list");
}

TEST(ContenderPermit, ExpiresToTheTail) {
  FirstWaiter()
      .Expired()
      .ExpectState(State::kOutside)
      .Connected(8)
      .Expect("create b, get /q, list");
}

// ---- A group's member ---------------------------------------------------------------------------

TEST(ContenderMember, IsGrantedByTheAnswerToItsCreate) {
  Script(Of(Mode::kMember))
      .Connected()
      .Expect("create a")
      .Created(3)
      .Expect("own timer, granted a3 token 1003 in 7")
      .Leave()
      .Expect("delete a3");
}

TEST(ContenderMember, FindsItsNodeWhenTheAnswerIsLost) {
  Script(Of(Mode::kMember))
      .Connected()
      .Expect("create a")
      .Reconnects()
      .Expect("barrier a, list")
      .Fails(Code::kNoNode)
      .Listed({MineOf(Mode::kMember, 3), OtherOf(Mode::kMember, 1)})
      .Expect("get a3")
      .Got(7, 3)
      .Expect("own timer, granted a3 token 1003 in 7");
}

TEST(ContenderMember, WaitsForItsProofAlone) {
  Candidacy candidacy = Of(Mode::kMember);
  candidacy.wait_for_proof = true;
  Script(candidacy)
      .Connected()
      .Created(3)
      .Expect("create a, own timer")
      .ExpectState(State::kProving)
      .Proven()
      .Expect("granted a3 token 1003 in 7");
}

// No listing, in which a stranger's node could refuse it.
TEST(ContenderMember, ReadsItsNodeAgainIfItsProofIsInterrupted) {
  Candidacy candidacy = Of(Mode::kMember);
  candidacy.wait_for_proof = true;
  Script(candidacy)
      .Connected()
      .Created(3)
      .Reconnects()
      .Expect("create a, own timer, get a3")
      .IsProven()
      .Got(7, 3)
      .Expect("own timer, granted a3 token 1003 in 7");
}

}  // namespace
}  // namespace zkrecipes::queue::machine
