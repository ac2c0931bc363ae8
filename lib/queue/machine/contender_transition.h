// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TRANSITION_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TRANSITION_H_

#include <string>
#include <utility>

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/permits.h"

namespace zkrecipes::queue::machine {

// Whether the reply leaves open what happened on the server. An expired session counts as such:
// event::Expired, which settles it, is under way.
inline bool NoAnswer(zk::Code code) {
  return zk::OutcomeUnknown(code) || code == zk::Code::kSessionExpired ||
         code == zk::Code::kInvalidState || code == zk::Code::kMarshallingError ||
         code == zk::Code::kThrottled;
}

// One event's transition of a Contender: changes `c_` and adds what to do to `actions_`. Private to
// the contender's sources, one for each section below. At most one of these runs at a time and none
// survives its event, so everything worth remembering is in the Contender.
class Contender::Transition {
 public:
  Transition(Contender& contender, Actions& actions) : c_(contender), actions_(actions) {}

  // contender.cc: events.
  void operator()(const event::Connected& e);
  void operator()(const event::Disconnected& e);
  void operator()(const event::Expired& e);
  void operator()(event::Replied& e);
  void operator()(const event::WatchFired& e);
  void operator()(const event::Leave& e);
  void operator()(const event::Lapsed& e);
  void operator()(const event::NodeGone& e);
  void operator()(const event::Proven& e);
  void operator()(const event::RetryDue& e);
  void operator()(const event::OwnWatchDue& e);
  void operator()(const event::CheckDue& e);
  void operator()(const event::DelayOver& e);

 private:
  // contender.cc: continuing after a connection, a loss or a pause.
  void Resume();
  void ResumeState();
  void LoseRequests();
  void RetryLater();
  void OnOwnWatchReply(zk::Code code);
  void OnCheckReply(zk::Code code);
  void CheckLater();

  // contender_requests.cc: each sends what its state waits for. REQUIRES: connected, except for
  // List.
  void Probe();
  void Join();
  void MakeParent(std::string path);
  void Resolve(const std::string& to_delete);
  void Adopt();
  void List();
  void Inspect();
  void WatchPredecessor();
  void Delete();
  void WatchOwnNode();
  OpId Send(zk::Request request);

  // contender_replies.cc: what a reply of the state's main request or of its list means.
  void OnMainReply(zk::Reply& reply);
  void OnListReply(const zk::Reply& reply);
  void OnParentMade(zk::Code code);
  void OnCreated(zk::Reply& reply);
  void OnStat(const zk::Reply& reply);
  void OnNodeKnown(const zk::Stat& stat);
  void OnBarrier(zk::Code code);
  void OnResolved(const zk::Names& children);
  void OnProbed(const zk::Names& children);
  void Decide(const zk::Names& children);
  bool RefusesBeside(const zk::Names& children);
  void Admit();
  void GrantOnceProven();
  void Grant();
  bool KnowsItIsFirst() const;
  void OnWatchSet(const zk::Reply& reply);
  void OnDeleted(zk::Code code);
  void OnLeases(const zk::Reply& reply);

  // contender_record.cc: lock-delay mode, the record of the last holder.
  std::string RecordPath() const;
  void ReadRecord();
  void OnRecord(const zk::Reply& reply);
  void Mark(zk::Request write);
  void OnMarked(const zk::Reply& reply);
  void ClearRecord();

  // contender_permits.cc: a semaphore's.
  bool IsMember() const { return c_.candidacy_.mode == Mode::kMember; }
  bool IsPermit() const { return c_.candidacy_.permits > 0; }
  void ReadNumber();  // ahead of a list
  bool OnPermitReply(const event::Replied& e);
  void OnNumber(const zk::Reply& reply);
  bool NumberIsOurs();
  void OnNumbered(zk::Code code);
  void DecidePermit(const zk::Names& children);
  void LetNextKnow();
  void OnNextKnows(zk::Code code);
  void WatchForPermit(const PermitView& view);
  void OnPermitWatchSet(OpId op, const zk::Reply& reply);
  void OnPermitWatchFired(const event::WatchFired& e);

  // contender_exits.cc: the ways out.
  void OnOwnWatchFired(zk::WatchEvent what);
  void OwnNodeGone();
  void LoseLease(LeaseEnd why);
  void Refuse(zk::Code code, const std::string& what, const std::string& path);
  void RefuseToResolve(zk::Code code, const std::string& what);
  void End(Outcome outcome);
  void BeginLeaving();
  void StopWatching();
  void Finish();

  bool Follows() const { return !c_.candidacy_.follows.node.empty(); }
  bool LeavesName() const { return c_.candidacy_.mode != Mode::kShared; }
  // A reader does not write, so it cannot refuse the mark of a writer whose node it has seen to be
  // gone: the writer looks for its node behind its mark.
  bool ListsAfterMark() const { return c_.candidacy_.mode == Mode::kSharedWriter; }
  bool Leaving() const { return c_.end_.outcome != Outcome::kNone; }
  bool OwnNodeWatched() const {
    return c_.own_watch_ == OwnWatch::kArmed || c_.own_watch_ == OwnWatch::kSetAgain;
  }
  bool Done() const { return c_.state_ == State::kDone; }
  std::string PredecessorPath() const;
  template <typename A>
  void Do(A action) {
    actions_.emplace_back(std::move(action));
  }

  Contender& c_;
  Actions& actions_;
  bool proven_ = false;  // the event says so
};

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_CONTENDER_TRANSITION_H_
