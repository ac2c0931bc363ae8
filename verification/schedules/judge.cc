// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/judge.h"

#include <algorithm>

#include "lib/queue/machine/node_name.h"
#include "lib/zk/path.h"

namespace zkrecipes::explore::schedules {

using testing::memory::Transaction;

const char* NameOf(Rule rule) {
  switch (rule) {
    case Rule::kGrantedNotFirst:
      return "granted though never first";
    case Rule::kGrantedTwice:
      return "granted twice";
    case Rule::kWrongToken:
      return "granted a wrong token";
    case Rule::kFollowedNobody:
      return "went on from a lease that had ended";
    case Rule::kForeignSession:
      return "believed in a foreign session";
    case Rule::kHeldAfterLoss:
      return "held after its loss";
    case Rule::kBelievedTooLong:
      return "believed too long";
    case Rule::kBothBelieved:
      return "two believed at once";
    case Rule::kDelaySkipped:
      return "granted without the lock delay";
    case Rule::kNotTold:
      return "not told of a loss";
    case Rule::kBusyAlone:
      return "busy though nobody was there";
    case Rule::kUnexpectedAnswer:
      return "unexpected answer";
    case Rule::kAnsweredTwice:
      return "answered twice";
    case Rule::kNeverAnswered:
      return "never answered";
    case Rule::kNodeLeft:
      return "node left behind";
    case Rule::kWatchLeft:
      return "watch left behind";
    case Rule::kNotClosed:
      return "client not closed";
  }
  return "";
}

void Judge::Follow(const testing::memory::ModelEnsemble& ensemble, base::BootTime now) {
  const auto& history = ensemble.history();
  for (; read_ < history.size(); ++read_) {
    const Transaction& txn = history[read_];
    if (txn.kind == Transaction::Kind::kCreate && txn.path == queue_) {
      places_.clear();
    } else if (txn.kind == Transaction::Kind::kCreate && zk::ParentPath(txn.path) == queue_) {
      Add(txn.zxid, txn.path, txn.node.owner);
    } else if (txn.kind == Transaction::Kind::kDelete) {
      const auto it = czxids_.find(txn.path);
      if (it == czxids_.end()) continue;
      contenders_[it->second].deleted_by_operator = txn.session == 0;
      Remove(it->second, {txn.zxid, now});
    } else if (txn.kind == Transaction::Kind::kCloseSession) {
      for (auto it = nodes_.begin(); it != nodes_.end();) {
        const int64_t czxid = (it++)->first;
        if (OwnerOf(czxid) == txn.session) Remove(czxid, {txn.zxid, now});
      }
    }
    Admit();
  }
}

const Judge::Contender& Judge::Of(int64_t czxid) const {
  static const Contender nobody;
  const auto it = contenders_.find(czxid);
  return it == contenders_.end() ? nobody : it->second;
}

// Contenders of one incarnation of the queue are in the order of their numbers, which is that of
// their czxids as long as ZooKeeper numbers them.
void Judge::Add(int64_t czxid, const std::string& path, zk::SessionId owner) {
  const auto name = queue::ParseNodeName(zk::NodeName(path));
  if (!name.has_value()) return;
  Contender& added = contenders_[czxid];
  added.owner = owner;
  added.reader = name->mode == queue::Mode::kShared;
  added.place = places_.emplace(name->sequence, czxid).first->second;
  order_.insert({added.place, czxid});
  nodes_[czxid] = path;
  czxids_[path] = czxid;
}

void Judge::Remove(int64_t czxid, End end) {
  Contender& removed = contenders_[czxid];
  removed.end = end;
  order_.erase({removed.place, czxid});
  czxids_.erase(nodes_[czxid]);
  nodes_.erase(czxid);
}

void Judge::Admit() {
  int in_front = 0;
  int writers = 0;
  int64_t last = 0;
  int64_t last_writer = 0;
  for (auto it = order_.begin(); it != order_.end() && writers < 2; ++it) {
    Contender& contender = contenders_[it->second];
    const int blockers = contender.reader ? writers : in_front;
    if (blockers == 0) contender.admitted = true;
    if (blockers == 1) contender.admitted_behind.insert(contender.reader ? last_writer : last);
    last = it->second;
    ++in_front;
    if (contender.reader) continue;
    last_writer = it->second;
    ++writers;
  }
}

std::optional<base::BootTime> Judge::EndOf(int64_t czxid) const {
  const std::optional<End>& end = Of(czxid).end;
  return end.has_value() ? std::optional(end->when) : std::nullopt;
}

bool Judge::WasBornUnder(int64_t czxid, int64_t followed) const {
  return contenders_.count(followed) > 0 && Of(followed).ThereAfter(czxid);
}

bool Judge::MayWatch(int64_t czxid, const std::string& path) const {
  const Contender& own = Of(czxid);
  for (auto it = order_.find({own.place, czxid}); it != order_.end() && it != order_.begin();) {
    const int64_t other = (--it)->second;
    if (own.reader && Of(other).reader) continue;
    if (nodes_.at(other) == path) return true;
    if (OwnerOf(other) != own.owner) return false;
  }
  return false;
}

int Judge::WritersSince(int64_t zxid) const {
  return static_cast<int>(std::count_if(
      contenders_.begin(), contenders_.end(),
      [&](const auto& entry) { return !entry.second.reader && entry.second.ThereAfter(zxid); }));
}

bool Judge::CreatedByOthers(int64_t since, zk::SessionId session) const {
  return std::any_of(contenders_.upper_bound(since), contenders_.end(),
                     [&](const auto& entry) { return entry.second.owner != session; });
}

}  // namespace zkrecipes::explore::schedules
