// SPDX-License-Identifier: Apache-2.0
//
// A semaphore's contender: the number of permits, which is the data of the path; the watches on
// those in front; and the word to the one behind. Why nobody misses a wake-up: docs/adr/0062.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/machine/contender_transition.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::machine {

using zk::Code;

// Those of its own: the number, a watch but for the last, and the word to the next one. False: it
// is another request's.
bool Contender::Transition::OnPermitReply(const event::Replied& e) {
  const Permit& permit = c_.permit_;
  if (e.op == permit.let_know_op) {
    OnNextKnows(e.reply.code);
    return true;
  }
  const bool of_number = e.op == permit.number_op;
  const bool of_watch = c_.state_ == State::kWatching && c_.main_op_ != 0 &&
                        permit.first_watch_op <= e.op && e.op < c_.main_op_;
  if (!of_number && !of_watch) return false;
  if (NoAnswer(e.reply.code)) {
    RetryLater();
  } else {
    of_number ? OnNumber(e.reply) : OnPermitWatchSet(e.op, e.reply);
  }
  return true;
}

void Contender::Transition::ReadNumber() {
  if (!IsPermit()) return;
  c_.permit_.number = Number::kUnknown;
  c_.permit_.number_op = Send(zk::Get{c_.candidacy_.parent});
}

// The list, on its way, decides.
void Contender::Transition::OnNumber(const zk::Reply& reply) {
  c_.permit_.number_op = 0;
  if (reply.code == Code::kNoNode) return;  // nor is there a list
  if (reply.code != Code::kOk) return Refuse(reply.code, "get", c_.candidacy_.parent);
  c_.permit_.path_version = reply.stat.version;
  if (ParsePermits(reply.data) == c_.candidacy_.permits) {
    c_.permit_.number = Number::kSame;
  } else if (reply.data.empty()) {
    c_.permit_.number = Number::kUnset;
  } else {
    c_.permit_.number = Number::kOther;
    c_.end_.what = reply.data;
  }
}

// Whether to go on. If there is no path, there is nothing to compare with: it is made with the
// number.
bool Contender::Transition::NumberIsOurs() {
  switch (c_.permit_.number) {
    case Number::kSame:
      return true;
    case Number::kUnknown:
      if (c_.node_.empty()) return true;
      List();  // the path was not there, so its list is older than the node
      return false;
    case Number::kOther:
      End(Outcome::kOtherNumber);
      return false;
    case Number::kUnset:
      // By version: of two contenders that find none, one writes its number.
      c_.state_ = State::kNumbering;
      c_.main_op_ = Send(zk::SetData{c_.candidacy_.parent, absl::StrCat(c_.candidacy_.permits),
                                     c_.permit_.path_version});
      return false;
  }
  return false;
}

void Contender::Transition::OnNumbered(Code code) {
  const bool settled = code == Code::kOk || code == Code::kBadVersion || code == Code::kNoNode;
  if (!settled) return Refuse(code, "set", c_.candidacy_.parent);
  c_.node_.empty() ? Probe() : List();
}

void Contender::Transition::DecidePermit(const zk::Names& children) {
  const PermitView view = ViewPermits(children, zk::NodeName(c_.node_), c_.candidacy_.permits);
  if (!view.listed) return OwnNodeGone();
  if (!view.sequence.has_value()) return Refuse(Code::kDataInconsistency, "create", c_.node_);
  if (SequenceExhausted(*view.sequence)) return End(Outcome::kExhausted);
  if (!NumberIsOurs()) return;
  c_.in_front_ = InFront(view.in_front);
  if (view.granted) {
    // Before a proof is waited for: the next one may be granted meanwhile.
    if (view.followed) LetNextKnow();
    StopWatching();
    return Admit();
  }
  c_.candidacy_.try_only ? End(Outcome::kBusy) : WatchForPermit(view);
}

// Sets the own node's data to what it is, which the next one watches. Any version will do: whatever
// a stranger has set would be put right.
void Contender::Transition::LetNextKnow() {
  c_.permit_.lets_know = true;
  if (c_.permit_.let_know_op != 0) return;
  c_.permit_.let_know_op = Send(zk::SetData{c_.node_, c_.candidacy_.data, -1});
}

// Where it is refused, the next one finds out by its check.
void Contender::Transition::OnNextKnows(Code code) {
  c_.permit_.let_know_op = 0;
  if (!c_.permit_.lets_know) return;  // it leaves
  if (NoAnswer(code)) return Do(action::StartRetryTimer{});
  c_.permit_.lets_know = false;
}

// A watch that was set before the list shows every change since: it is kept.
void Contender::Transition::WatchForPermit(const PermitView& view) {
  c_.state_ = State::kWatching;
  zk::Names watched;
  for (const absl::string_view name : view.watched) {
    watched.push_back(zk::JoinPath(c_.candidacy_.parent, name));
  }
  const bool same = view.behind_waiter && c_.permit_.behind_waiter && watched == c_.permit_.watched;
  if (same && c_.permit_.armed) return CheckLater();
  if (!same) {
    StopWatching();
    c_.permit_.version = 0;
  }
  c_.permit_.armed = false;
  c_.permit_.behind_waiter = view.behind_waiter;
  c_.permit_.watched = std::move(watched);
  c_.permit_.first_watch_op = c_.next_op_;
  for (const std::string& path : c_.permit_.watched) {
    c_.main_op_ = view.behind_waiter ? Send(zk::WatchExists{path}) : Send(zk::WatchNode{path});
  }
  CheckLater();
}

// One that has gone, or has been granted between the list and the watch, is worth another list.
void Contender::Transition::OnPermitWatchSet(OpId op, const zk::Reply& reply) {
  if (reply.code == Code::kNoNode) {
    StopWatching();
    c_.main_op_ = 0;
    return List();
  }
  if (reply.code != Code::kOk)
    return Refuse(reply.code, "watch", c_.permit_.watched[op - c_.permit_.first_watch_op]);
  if (!c_.permit_.behind_waiter) return;
  c_.permit_.armed = true;
  if (reply.stat.version == c_.permit_.version) return;
  c_.permit_.version = reply.stat.version;
  List();
}

void Contender::Transition::OnPermitWatchFired(const event::WatchFired& e) {
  const auto fired = std::ranges::find(c_.permit_.watched, e.path);
  if (fired == c_.permit_.watched.end()) return;
  if (e.what == zk::WatchEvent::kNodeData) {
    ++c_.permit_.version;
    c_.permit_.armed = false;
  } else {
    c_.permit_.watched.erase(fired);
    c_.permit_.armed = false;
  }
  if (c_.state_ != State::kWatching) return;  // it lists already
  c_.main_op_ = 0;
  List();  // first: the other watches may be many
  if (e.what != zk::WatchEvent::kNodeData) StopWatching();
}

}  // namespace zkrecipes::queue::machine
