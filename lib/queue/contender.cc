// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/contender.h"

#include <optional>

#include "lib/queue/admission.h"
#include "lib/zk/path.h"

namespace zkrecipes::queue {
namespace {

using zk::Code;

// Whether the reply says nothing about what happened on the server. An expired session is counted
// in: SessionLost, which settles it, is on its way.
bool NoAnswer(Code code) {
  return zk::OutcomeUnknown(code) || code == Code::kSessionExpired || code == Code::kInvalidState ||
         code == Code::kMarshallingError || code == Code::kThrottled;
}

// The next container to make on the way down to `parent`, once `made` exists.
std::string NextBelow(const std::string& made, const std::string& parent) {
  return parent.substr(0, parent.find('/', made.size() + 1));
}

}  // namespace

class Contender::Step {
 public:
  Step(Contender& contender, Actions& actions) : c_(contender), actions_(actions) {}

  void operator()(const event::Connected& e) {
    if (c_.session_ != 0 && c_.session_ != e.session) (*this)(event::SessionLost{});
    if (Done()) return;
    c_.connected_ = true;
    c_.session_ = e.session;
    if (c_.guid_.empty()) c_.guid_ = e.guid;
    Resume();
  }

  void operator()(const event::Disconnected&) {
    c_.connected_ = false;
    c_.own_watch_op_ = 0;
    LoseRequests();
  }

  void operator()(const event::SessionLost&) {
    if (c_.state_ == State::kHeld) LoseLease(LossReason::kSessionLost);
    c_.own_watch_op_ = 0;
    c_.own_watch_ = OwnWatch::kNotYet;  // the session's watches went with it
    if (c_.leaving_) return Finish();
    if (!c_.node_.empty()) actions_.push_back(action::PlaceLost{});
    const ContenderSpec spec = std::move(c_.spec_);
    const OpId next_op = c_.next_op_;
    c_ = Contender(spec);
    c_.next_op_ = next_op;  // a late reply must not be taken for a new request's
  }

  void operator()(const event::Replied& e) {
    if (e.op == 0) return;
    if (e.op == c_.main_op_) {
      c_.main_op_ = 0;
      OnMainReply(e.reply);
    } else if (e.op == c_.list_op_) {
      c_.list_op_ = 0;
      OnListReply(e.reply);
    } else if (e.op == c_.own_watch_op_) {
      c_.own_watch_op_ = 0;
      OnOwnWatchSet(e.reply.code);
    }
  }

  void operator()(const event::WatchFired& e) {
    if (e.path == c_.node_) return OnOwnWatch(e.what);
    if (c_.state_ != State::kWatching || e.path != BlockerPath()) return;
    c_.main_op_ = 0;
    if (e.what == zk::WatchEvent::kDeleted) c_.lower_.pop_back();
    List();
  }

  void operator()(const event::Leave&) {
    if (c_.leaving_) return;
    c_.leaving_ = true;
    c_.end_.outcome = Outcome::kLeft;
    switch (c_.state_) {
      case State::kOutside:
      case State::kProbing:
      case State::kMakingParents:
        return Finish();
      case State::kJoining:
        if (c_.main_op_ != 0) return;  // the create's answer decides
        return BeginLeaving();
      case State::kResolving:
        return;  // likewise
      default:
        return BeginLeaving();
    }
  }

  void operator()(const event::Lapsed&) {
    if (c_.state_ != State::kHeld) return;
    LoseLease(LossReason::kLapsed);
    BeginLeaving();
  }

  void operator()(const event::RetryDue&) {
    if (c_.connected_) Resume();
  }

  void operator()(const event::OwnWatchDue&) {
    if (c_.node_.empty() || c_.leaving_ || c_.own_watch_ != OwnWatch::kNotYet) return;
    c_.own_watch_ = OwnWatch::kWanted;
    if (c_.connected_) WatchOwnNode();
  }

 private:
  bool Done() const { return c_.state_ == State::kDone; }
  std::string BlockerPath() const { return zk::JoinPath(c_.spec_.parent, c_.lower_.back()); }

  OpId Send(zk::Request request) {
    const OpId op = c_.next_op_++;
    actions_.push_back(action::Send{op, std::move(request)});
    return op;
  }

  // ---- going on after a connection, a loss or a pause -------------------------------------------

  // Sends what the state waits for, unless it is on its way. REQUIRES: connected.
  void Resume() {
    if (c_.main_op_ == 0 && c_.list_op_ == 0) {
      switch (c_.state_) {
        case State::kOutside:
          c_.spec_.try_only ? Probe() : Join();
          break;
        case State::kResolving:
          Resolve();
          break;
        case State::kAdopting:
          Adopt();
          break;
        case State::kListing:
          List();
          break;
        case State::kLeaving:
          Delete();
          break;
        default:
          break;
      }
    }
    if (c_.own_watch_ == OwnWatch::kWanted && c_.own_watch_op_ == 0 && !c_.leaving_) WatchOwnNode();
  }

  // The outstanding requests have an unknown outcome: back to the state that can find out.
  void LoseRequests() {
    switch (c_.state_) {
      case State::kProbing:
      case State::kMakingParents:
        c_.state_ = State::kOutside;
        break;
      case State::kJoining:
        c_.state_ = c_.node_.empty() ? State::kResolving : State::kListing;
        break;
      case State::kWatching:
        if (c_.main_op_ != 0) c_.state_ = State::kListing;  // not armed, or not known to be
        break;
      default:
        break;
    }
    c_.main_op_ = 0;
    c_.list_op_ = 0;
    c_.barrier_passed_ = false;
  }

  // A reply that says nothing came although the connection may stand.
  void RetryLater() {
    LoseRequests();
    actions_.push_back(action::StartRetryTimer{});
  }

  // ---- requests ---------------------------------------------------------------------------------

  void Probe() {
    c_.state_ = State::kProbing;
    c_.list_op_ = Send(zk::GetChildren{c_.spec_.parent});
  }

  void Join() {
    c_.state_ = State::kJoining;
    const std::string prefix = NodePrefix(c_.spec_.dialect, c_.spec_.mode, c_.guid_);
    c_.main_op_ = Send(zk::Create{zk::JoinPath(c_.spec_.parent, prefix), c_.spec_.data,
                                  zk::CreateMode::kEphemeralSequential});
    c_.list_op_ = Send(zk::GetChildren{c_.spec_.parent});
  }

  void MakeParent(std::string path) {
    c_.state_ = State::kMakingParents;
    c_.list_op_ = 0;
    c_.missing_ = std::move(path);
    c_.main_op_ = Send(zk::Create{c_.missing_, "", zk::CreateMode::kContainer});
  }

  void Resolve() {
    c_.state_ = State::kResolving;
    c_.barrier_passed_ = false;
    c_.main_op_ = Send(zk::Delete{zk::JoinPath(c_.spec_.parent, "zkrecipes-barrier-" + c_.guid_)});
    c_.list_op_ = Send(zk::GetChildren{c_.spec_.parent});
  }

  void Adopt() {
    c_.state_ = State::kAdopting;
    c_.main_op_ = Send(zk::Get{c_.node_});
    c_.list_op_ = Send(zk::GetChildren{c_.spec_.parent});
  }

  void List() {
    c_.state_ = State::kListing;
    if (c_.connected_) c_.list_op_ = Send(zk::GetChildren{c_.spec_.parent});
  }

  void Delete() { c_.main_op_ = Send(zk::Delete{c_.node_}); }

  void WatchOwnNode() { c_.own_watch_op_ = Send(zk::WatchNode{c_.node_}); }

  // ---- replies ----------------------------------------------------------------------------------

  void OnMainReply(const zk::Reply& reply) {
    if (NoAnswer(reply.code)) return RetryLater();
    switch (c_.state_) {
      case State::kMakingParents:
        return OnParentMade(reply.code);
      case State::kJoining:
        return OnCreated(reply);
      case State::kResolving:
        return OnBarrier(reply.code);
      case State::kAdopting:
        return OnStat(reply);
      case State::kWatching:
        return OnWatchSet(reply.code);
      case State::kLeaving:
        return OnDeleted(reply.code);
      default:
        return;
    }
  }

  void OnListReply(const zk::Reply& reply) {
    if (NoAnswer(reply.code)) return RetryLater();
    if (reply.code != Code::kOk && reply.code != Code::kNoNode) {
      return Refuse(reply.code, "list", c_.spec_.parent);
    }
    switch (c_.state_) {
      case State::kProbing:
        return TailMustWait(reply.children, c_.spec_.mode) ? End(Outcome::kBusy) : Join();
      case State::kResolving:
        return OnResolved(reply);
      case State::kJoining:
      case State::kAdopting:
      case State::kListing:
        return Decide(reply.children);
      default:
        return;
    }
  }

  void OnParentMade(Code code) {
    const std::string made = c_.missing_;
    if (code == Code::kNoNode) {
      if (made.find('/', 1) == std::string::npos) return Refuse(code, "create", made);
      return MakeParent(zk::ParentPath(made));
    }
    if (code != Code::kOk && code != Code::kNodeExists) return Refuse(code, "create", made);
    if (made == c_.spec_.parent) return Join();
    MakeParent(NextBelow(made, c_.spec_.parent));
  }

  void OnCreated(const zk::Reply& reply) {
    if (reply.code == Code::kOk) {
      c_.node_ = reply.path;
      actions_.push_back(action::StartOwnWatchTimer{});
      return OnOwnStat(reply.stat);
    }
    c_.list_op_ = 0;
    if (c_.leaving_) return Finish();
    if (reply.code == Code::kNoNode) return MakeParent(c_.spec_.parent);
    Refuse(reply.code, "create", c_.spec_.parent);
  }

  void OnBarrier(Code code) {
    c_.barrier_passed_ = code == Code::kNoNode || code == Code::kOk;
    // Without the right to delete below the parent nothing can be proven. (NOAUTH can be answered
    // by a server on its own.) A node that was created after all goes with the session.
    if (!c_.barrier_passed_) Refuse(code, "delete below", c_.spec_.parent);
  }

  void OnResolved(const zk::Reply& reply) {
    if (!c_.barrier_passed_) return;
    for (const std::string& child : reply.children) {
      const std::optional<NodeName> name = ParseNodeName(child);
      if (!name || name->guid != c_.guid_) continue;
      c_.node_ = zk::JoinPath(c_.spec_.parent, child);
      if (c_.leaving_) return BeginLeaving();
      actions_.push_back(action::StartOwnWatchTimer{});
      return Adopt();
    }
    // Not there behind the barrier: the create will never be executed. Same guid, new try.
    c_.leaving_ ? Finish() : Join();
  }

  void OnStat(const zk::Reply& reply) {
    if (reply.code == Code::kOk) return OnOwnStat(reply.stat);
    c_.list_op_ = 0;
    if (reply.code == Code::kNoNode) return OwnNodeGone();
    Refuse(reply.code, "get", c_.node_);
  }

  void OnOwnStat(const zk::Stat& stat) {
    c_.stat_ = stat;
    if (c_.leaving_) return BeginLeaving();
    if (stat.ephemeral_owner == c_.session_) return;  // the list, on its way, decides
    End(Outcome::kForeignOwner);
  }

  void Decide(const std::vector<std::string>& children) {
    QueueView view = ViewQueue(children, c_.spec_.mode, zk::NodeName(c_.node_));
    if (!view.listed) return OwnNodeGone();
    const std::optional<NodeName> own = ParseNodeName(zk::NodeName(c_.node_));
    if (SequenceExhausted(own->sequence)) return End(Outcome::kExhausted);
    c_.lower_ = std::move(view.lower);
    if (c_.lower_.empty()) return Grant();
    if (c_.spec_.try_only) return End(Outcome::kBusy);
    c_.state_ = State::kWatching;
    c_.main_op_ = Send(zk::WatchNode{BlockerPath()});
  }

  void Grant() {
    c_.state_ = State::kHeld;
    actions_.push_back(action::Granted{c_.stat_.czxid, c_.node_, c_.session_});
  }

  void OnWatchSet(Code code) {
    if (code == Code::kOk) return;
    if (code != Code::kNoNode) return Refuse(code, "watch", BlockerPath());
    c_.lower_.pop_back();
    List();
  }

  void OnDeleted(Code code) {
    if (code == Code::kOk || code == Code::kNoNode) return Finish();
    actions_.push_back(action::LeaveRefused{code});
    actions_.push_back(action::StartRetryTimer{});
  }

  // ---- the own node -----------------------------------------------------------------------------

  void OnOwnWatchSet(Code code) {
    if (code == Code::kOk) {
      c_.own_watch_ = OwnWatch::kArmed;
    } else if (code == Code::kNoNode) {
      OwnNodeGone();
    } else if (NoAnswer(code)) {
      actions_.push_back(action::StartRetryTimer{});
    }
  }

  void OnOwnWatch(zk::WatchEvent what) {
    if (c_.own_watch_ != OwnWatch::kArmed) return;
    c_.own_watch_ = OwnWatch::kNotYet;
    if (what == zk::WatchEvent::kDeleted) return OwnNodeGone();
    (*this)(event::OwnWatchDue{});
  }

  void OwnNodeGone() {
    if (c_.leaving_) return;  // the delete's own reply tells
    if (c_.state_ == State::kHeld) {
      LoseLease(LossReason::kNodeDeleted);
      return Finish();
    }
    c_.end_.outcome = Outcome::kNodeDeleted;
    Finish();
  }

  void LoseLease(LossReason why) {
    actions_.push_back(action::LeaseLost{why});
    c_.end_.outcome = Outcome::kLost;
    c_.leaving_ = true;
  }

  // ---- the way out ------------------------------------------------------------------------------

  void Refuse(Code code, std::string what, std::string path) {
    if (!c_.leaving_) c_.end_ = {Outcome::kRefused, code, std::move(what), std::move(path)};
    c_.leaving_ = true;
    c_.node_.empty() ? Finish() : BeginLeaving();
  }

  void End(Outcome outcome) {
    c_.end_.outcome = outcome;
    c_.leaving_ = true;
    c_.node_.empty() ? Finish() : BeginLeaving();
  }

  void BeginLeaving() {
    c_.leaving_ = true;
    const bool watching = c_.state_ == State::kWatching;
    c_.state_ = State::kLeaving;
    c_.main_op_ = 0;
    c_.list_op_ = 0;
    if (c_.connected_) Delete();  // first: whoever waits for us is served before we tidy up
    if (watching) actions_.push_back(action::Unwatch{BlockerPath()});
  }

  void Finish() {
    if (c_.state_ == State::kWatching) actions_.push_back(action::Unwatch{BlockerPath()});
    const bool own = c_.own_watch_ == OwnWatch::kArmed || c_.own_watch_op_ != 0;
    if (own) actions_.push_back(action::Unwatch{c_.node_});
    c_.state_ = State::kDone;
    c_.leaving_ = true;
    c_.main_op_ = c_.list_op_ = c_.own_watch_op_ = 0;
    actions_.push_back(c_.end_);
  }

  Contender& c_;
  Actions& actions_;
};

Actions Contender::On(const Event& event) {
  Actions actions;
  if (state_ != State::kDone) std::visit(Step(*this, actions), event);
  return actions;
}

}  // namespace zkrecipes::queue
