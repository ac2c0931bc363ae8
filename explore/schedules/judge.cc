// SPDX-License-Identifier: Apache-2.0

#include "explore/schedules/judge.h"

#include <algorithm>

#include "lib/queue/node_name.h"
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
      if (txn.session == 0) deleted_by_operator_.insert(it->second);
      Remove(it->second, txn.zxid, now);
    } else if (txn.kind == Transaction::Kind::kCloseSession) {
      for (auto it = nodes_.begin(); it != nodes_.end();) {
        const int64_t czxid = (it++)->first;
        if (owners_[czxid] == txn.session) Remove(czxid, txn.zxid, now);
      }
    }
    Admit();
  }
}

// Contenders of one incarnation of the queue are in the order of their numbers, which is that of
// their czxids as long as ZooKeeper numbers them.
void Judge::Add(int64_t czxid, const std::string& path, zk::SessionId owner) {
  const auto name = queue::ParseNodeName(zk::NodeName(path));
  if (!name.has_value()) return;
  if (name->mode == queue::Mode::kShared) readers_.insert(czxid);
  const int64_t place = places_.emplace(name->sequence, czxid).first->second;
  order_.insert({place, czxid});
  placed_at_[czxid] = place;
  nodes_[czxid] = path;
  czxids_[path] = czxid;
  owners_[czxid] = owner;
}

void Judge::Remove(int64_t czxid, int64_t zxid, base::BootTime now) {
  order_.erase({placed_at_[czxid], czxid});
  czxids_.erase(nodes_[czxid]);
  nodes_.erase(czxid);
  ended_[czxid] = {zxid, now};
}

void Judge::Admit() {
  int in_front = 0;
  int writers = 0;
  int64_t last = 0;
  int64_t last_writer = 0;
  for (auto it = order_.begin(); it != order_.end() && writers < 2; ++it) {
    const int64_t czxid = it->second;
    const int blockers = IsReader(czxid) ? writers : in_front;
    if (blockers == 0) admitted_.insert(czxid);
    if (blockers == 1) admitted_behind_.insert({czxid, IsReader(czxid) ? last_writer : last});
    last = czxid;
    ++in_front;
    if (IsReader(czxid)) continue;
    last_writer = czxid;
    ++writers;
  }
}

std::optional<base::BootTime> Judge::EndOf(int64_t czxid) const {
  const auto end = ended_.find(czxid);
  return end == ended_.end() ? std::nullopt : std::optional(end->second.when);
}

bool Judge::WasBornUnder(int64_t czxid, int64_t followed) const {
  const auto end = ended_.find(followed);
  return owners_.count(followed) > 0 && (end == ended_.end() || end->second.zxid > czxid);
}

bool Judge::MayWatch(int64_t czxid, const std::string& path) const {
  const auto place = placed_at_.find(czxid);
  if (place == placed_at_.end()) return false;
  for (auto it = order_.find({place->second, czxid}); it != order_.begin();) {
    const int64_t other = (--it)->second;
    if (IsReader(czxid) && IsReader(other)) continue;
    if (nodes_.at(other) == path) return true;
    if (OwnerOf(other) != OwnerOf(czxid)) return false;
  }
  return false;
}

int Judge::WritersSince(int64_t zxid) const {
  return static_cast<int>(std::count_if(owners_.begin(), owners_.end(), [&](const auto& entry) {
    const auto end = ended_.find(entry.first);
    return !IsReader(entry.first) && (end == ended_.end() || end->second.zxid > zxid);
  }));
}

bool Judge::CreatedByOthers(int64_t since, zk::SessionId session) const {
  return std::any_of(owners_.upper_bound(since), owners_.end(),
                     [session](const auto& entry) { return entry.second != session; });
}

zk::SessionId Judge::OwnerOf(int64_t czxid) const {
  const auto it = owners_.find(czxid);
  return it == owners_.end() ? 0 : it->second;
}

}  // namespace zkrecipes::explore::schedules
