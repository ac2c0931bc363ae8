// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/machine/contender_transition.h"
#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::machine {

std::string Contender::Transition::PredecessorPath() const {
  return zk::JoinPath(c_.candidacy_.parent, c_.in_front_.back());
}

OpId Contender::Transition::Send(zk::Request request) {
  const OpId op = c_.next_op_++;
  Do(action::Send{op, std::move(request)});
  return op;
}

void Contender::Transition::Probe() {
  c_.state_ = State::kProbing;
  ReadNumber();
  c_.list_op_ = Send(zk::GetChildren{c_.candidacy_.parent});
}

void Contender::Transition::Join() {
  c_.state_ = State::kJoining;
  const Candidacy& c = c_.candidacy_;
  zk::Create create{NodePrefix(c.dialect, c.named(), c_.guid_, c.parent), c.data,
                    zk::CreateMode::kEphemeralSequential, c.acl};
  if (c_.candidacy_.takes_place()) {
    create.path += SequenceSuffix(c_.candidacy_.follows.node);
    create.mode = zk::CreateMode::kEphemeral;
  }
  // Both in one flight: the server answers in order, so the listing shows the state after the
  // create.
  c_.main_op_ = Send(std::move(create));
  ReadNumber();
  // A member waits for nobody: its node is all it needs.
  if (!IsMember()) c_.list_op_ = Send(zk::GetChildren{c_.candidacy_.parent});
}

void Contender::Transition::MakeParent(std::string path) {
  c_.state_ = State::kMakingParents;
  c_.missing_ = std::move(path);
  const bool numbered = IsPermit() && c_.missing_ == c_.candidacy_.parent;
  c_.main_op_ = Send(zk::Create{c_.missing_, numbered ? absl::StrCat(c_.candidacy_.permits) : "",
                                zk::CreateMode::kContainer, c_.candidacy_.acl});
}

// `to_delete`: a child that must go. If it is empty, one that never exists serves as the barrier.
void Contender::Transition::Resolve(const std::string& to_delete) {
  c_.state_ = State::kResolving;
  const std::string child =
      to_delete.empty() ? absl::StrCat("zkrecipes-barrier-", c_.guid_) : to_delete;
  c_.main_op_ = Send(zk::Delete{zk::JoinPath(c_.candidacy_.parent, child)});
  c_.list_op_ = Send(zk::GetChildren{c_.candidacy_.parent});
}

// The reply to its create, with the Stat, was lost. The token is read from the node itself.
void Contender::Transition::Adopt() {
  c_.state_ = State::kAdopting;
  c_.main_op_ = Send(zk::Get{c_.node_});
  ReadNumber();
  if (!IsMember()) c_.list_op_ = Send(zk::GetChildren{c_.candidacy_.parent});
}

void Contender::Transition::List() {
  c_.state_ = State::kListing;  // without a connection, Resume sends the list later
  if (!c_.connected_) return;
  if (IsMember()) return Adopt();
  ReadNumber();
  c_.list_op_ = Send(zk::GetChildren{c_.candidacy_.parent});
}

void Contender::Transition::Inspect() {
  c_.state_ = State::kInspecting;
  c_.main_op_ = Send(zk::GetChildren{zk::JoinPath(c_.candidacy_.parent, kSemaphoreLeases)});
  c_.list_op_ = Send(zk::GetChildren{c_.candidacy_.parent});
}

void Contender::Transition::WatchPredecessor() {
  c_.state_ = State::kWatching;
  // The predecessor alone: no herd wakes when the holder leaves.
  c_.main_op_ = Send(zk::WatchNode{PredecessorPath()});
  CheckLater();
}

void Contender::Transition::Delete() {
  // In this order, on one connection: who sees the node gone finds the record clean.
  if (c_.marked_) ClearRecord();
  c_.main_op_ = Send(zk::Delete{c_.node_});
}

void Contender::Transition::WatchOwnNode() { c_.own_watch_op_ = Send(zk::WatchNode{c_.node_}); }

}  // namespace zkrecipes::queue::machine
