// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <utility>

#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/contender_transition.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::machine {
namespace {

using zk::Code;

// The next container to make on the way down to `parent`, once `made` exists.
std::string NextBelow(const std::string& made, const std::string& parent) {
  return parent.substr(0, parent.find('/', made.size() + 1));
}

bool IsTopLevel(const std::string& path) { return path.find('/', 1) == std::string::npos; }

}  // namespace

void Contender::Transition::OnMainReply(zk::Reply& reply) {
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
      return OnWatchSet(reply);
    case State::kReading:
      return OnRecord(reply);
    case State::kMarking:
      return OnMarked(reply);
    case State::kLeaving:
      return OnDeleted(reply.code);
    case State::kInspecting:
      return OnLeases(reply);
    case State::kNumbering:
      return OnNumbered(reply.code);
    case State::kOutside:
    case State::kProbing:
    case State::kListing:
    case State::kDelaying:
    case State::kProving:
    case State::kHeld:
    case State::kDone:
      return;  // they send a list at most
  }
}

// If the parent is absent it has no children: the list is empty then.
void Contender::Transition::OnListReply(const zk::Reply& reply) {
  if (reply.code != Code::kOk && reply.code != Code::kNoNode) {
    if (c_.state_ == State::kResolving) return RefuseToResolve(reply.code, "list");
    return Refuse(reply.code, "list", c_.candidacy_.parent);
  }
  switch (c_.state_) {
    case State::kInspecting:
      if (RefusesBeside(reply.children)) return;
      return c_.node_.empty() ? OnProbed(reply.children) : Decide(reply.children);
    case State::kProbing:
      if (RefusesBeside(reply.children)) return;
      return OnProbed(reply.children);
    case State::kResolving:
      return OnResolved(reply.children);
    case State::kJoining:
    case State::kAdopting:
    case State::kListing:
      if (RefusesBeside(reply.children)) return;
      return Decide(reply.children);
    case State::kMarking:
    case State::kNumbering:
    case State::kOutside:
    case State::kMakingParents:
    case State::kWatching:
    case State::kReading:
    case State::kDelaying:
    case State::kProving:
    case State::kHeld:
    case State::kLeaving:
    case State::kDone:
      return;  // they list nothing
  }
}

void Contender::Transition::OnProbed(const zk::Names& children) {
  if (IsPermit() && !NumberIsOurs()) return;
  const bool busy = IsPermit() ? TailMustWaitForPermit(children, c_.candidacy_.permits)
                               : TailMustWait(children, c_.candidacy_.mode);
  busy ? End(Outcome::kBusy) : Join();
}

void Contender::Transition::OnParentMade(Code code) {
  const std::string made = std::move(c_.missing_);
  c_.missing_.clear();
  if (code == Code::kNoNode && !IsTopLevel(made)) return MakeParent(zk::ParentPath(made));
  if (code != Code::kOk && code != Code::kNodeExists) return Refuse(code, "create", made);
  if (made == c_.candidacy_.parent) return Join();
  MakeParent(NextBelow(made, c_.candidacy_.parent));
}

void Contender::Transition::OnCreated(zk::Reply& reply) {
  if (reply.code == Code::kOk) {
    // From here on there is something to clean up, whatever happens.
    c_.node_ = std::move(reply.path);
    return OnNodeKnown(reply.stat);
  }
  c_.list_op_ = 0;
  // The name carries the own guid: this contender's unanswered create made it.
  if (Follows() && reply.code == Code::kNodeExists) return Resolve("");
  if (Leaving()) return Finish();
  if (Follows() && reply.code == Code::kNoNode) return End(Outcome::kFollowedLost);
  if (reply.code == Code::kNoNode) return MakeParent(c_.candidacy_.parent);
  Refuse(reply.code, "create", c_.candidacy_.parent);
}

void Contender::Transition::OnStat(const zk::Reply& reply) {
  if (reply.code == Code::kOk) return OnNodeKnown(reply.stat);
  if (reply.code == Code::kNoNode) return OwnNodeGone();
  Refuse(reply.code, "get", c_.node_);
}

void Contender::Transition::OnNodeKnown(const zk::Stat& stat) {
  c_.czxid_ = stat.czxid;
  if (Leaving()) return BeginLeaving();
  if (stat.ephemeral_owner != c_.session_) return End(Outcome::kForeignOwner);
  Do(action::StartOwnWatchTimer{});
  if (IsMember()) return GrantOnceProven();
  // The list, on its way, decides.
}

// Only a committed answer is a barrier: a server may answer NOAUTH without asking the quorum.
void Contender::Transition::OnBarrier(Code code) {
  if (code == Code::kNoNode || code == Code::kOk) return;  // the list, on its way, decides
  RefuseToResolve(code, "delete below");
}

void Contender::Transition::OnResolved(const zk::Names& children) {
  const std::vector<std::string> own = NodesOf(children, c_.guid_);
  if (own.empty()) {
    // Not there behind the barrier: that create will never be executed. Same guid, another try.
    return Leaving() ? Finish() : Join();
  }
  // There cannot be two unless a barrier has failed. The later one would block the queue for ever.
  if (own.size() > 1) return Resolve(own.back());
  c_.node_ = zk::JoinPath(c_.candidacy_.parent, own.front());
  Leaving() ? BeginLeaving() : Adopt();
}

// The way to a grant (KnowsItIsFirst is the only other one): a listing that shows the own node,
// with no predecessor in front. A listing without the own node proves nothing about the queue.
void Contender::Transition::Decide(const zk::Names& children) {
  if (IsPermit()) return DecidePermit(children);
  const absl::string_view name = zk::NodeName(c_.node_);
  const QueueView view = ViewQueue(children, c_.candidacy_.mode, name, c_.candidacy_.follows.node);
  // This session's own server has answered behind the create, so the node was there before.
  if (!view.listed) return OwnNodeGone();
  if (Follows() && !view.ignored_listed) return End(Outcome::kFollowedLost);
  // Without a sequence number it cannot be known which nodes are in front.
  if (!view.sequence.has_value()) return Refuse(Code::kDataInconsistency, "create", c_.node_);
  if (SequenceExhausted(*view.sequence)) return End(Outcome::kExhausted);
  if (Follows() && HasWriter(view.in_front)) return End(Outcome::kWriterQueued);
  c_.in_front_ = InFront(view.in_front);
  if (c_.in_front_.empty()) return Admit();
  c_.candidacy_.try_only ? End(Outcome::kBusy) : WatchPredecessor();
}

// Ends the contender beside others that would hold while it does. Or looks first, also true: what
// has a child `leases` is a semaphore, or is the path above a queue of that name.
bool Contender::Transition::RefusesBeside(const zk::Names& children) {
  if (c_.candidacy_.beside_blind) return false;
  c_.end_.blind = BlindAmong(children, c_.candidacy_.dialect, c_.candidacy_.named());
  const bool inspected = c_.state_ == State::kInspecting;
  if (c_.end_.blind.empty() && Contains(children, kSemaphoreLeases)) {
    if (!inspected) {
      Inspect();
      return true;
    }
    if (IsSemaphore(children, c_.leases_)) c_.end_.blind = {kSemaphoreLeases};
  }
  if (c_.end_.blind.empty()) return false;
  End(Outcome::kBlind);
  return true;
}

// What may not be listed counts as a semaphore's. The list of the queue, on its way, decides.
void Contender::Transition::OnLeases(const zk::Reply& reply) {
  const bool listed = reply.code == Code::kOk;
  c_.leases_ = listed || reply.code == Code::kNoNode ? LeasesIn(reply.children) : Leases::kHeld;
}

void Contender::Transition::Admit() {
  const bool marked = c_.marked_ && ListsAfterMark();
  c_.candidacy_.delays() && !marked ? ReadRecord() : GrantOnceProven();
}

void Contender::Transition::GrantOnceProven() {
  if (proven_ || !c_.candidacy_.wait_for_proof) return Grant();
  c_.state_ = State::kProving;
}

// Whether the predecessor's deletion alone shows that nothing is in front, without another listing:
// the session is alive, so the own node is there unless another client deleted it; and this server
// would have reported that deletion earlier, on this same connection.
bool Contender::Transition::KnowsItIsFirst() const {
  if (Follows()) return false;  // only a listing shows that the followed lease's node is there
  if (c_.in_front_.size() != 1 || !proven_ || c_.own_watch_ != OwnWatch::kArmed) return false;
  // A writer may have been downgraded: then a reader took its place before it was deleted.
  const std::optional<NodeName> predecessor = ParseNodeName(c_.in_front_.back());
  return predecessor.has_value() && predecessor->mode != Mode::kSharedWriter &&
         predecessor->dialect != Dialect::kKazoo;
}

void Contender::Transition::Grant() {
  c_.state_ = State::kHeld;
  const int64_t token = c_.candidacy_.takes_place() ? c_.candidacy_.follows.token : c_.czxid_;
  // It creates no other node; but a permit's data may have to be set.
  std::string data = IsPermit() ? c_.candidacy_.data : std::exchange(c_.candidacy_.data, {});
  Do(machine::Grant{token, c_.node_, c_.czxid_, c_.session_, c_.candidacy_.mode, std::move(data)});
}

void Contender::Transition::OnWatchSet(const zk::Reply& reply) {
  // The last of its watches: main_op_ is 0 by now.
  if (IsPermit()) {
    const size_t watches = c_.permit_.watched.size();
    return OnPermitWatchSet(c_.permit_.first_watch_op + watches - 1, reply);
  }
  const Code code = reply.code;
  if (code == Code::kOk) return;
  if (code != Code::kNoNode) return Refuse(code, "watch", PredecessorPath());
  c_.in_front_.pop_back();
  List();
}

void Contender::Transition::OnDeleted(Code code) {
  if (code == Code::kOk || code == Code::kNoNode) return Finish();
  Do(action::LeaveRefused{code, "delete", c_.node_});
  Do(action::StartRetryTimer{});
}

}  // namespace zkrecipes::queue::machine
