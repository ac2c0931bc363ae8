// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/queue_history.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::schedules {

using testing::memory::Transaction;

void QueueHistory::Follow(const testing::memory::ModelEnsemble& ensemble, base::BootTime now) {
  const auto& history = ensemble.history();
  for (; read_ < history.size(); ++read_) {
    ForEachChange(history[read_], [&](const Transaction& change) { Read(change, now); });
    Admit();
  }
}

void QueueHistory::Read(const Transaction& txn, base::BootTime now) {
  if (txn.kind == Transaction::Kind::kCreate && zk::ParentPath(txn.path) == queue_) {
    Add(txn.zxid, txn.path, txn.node.owner);
  } else if (txn.kind == Transaction::Kind::kDelete) {
    const auto it = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const auto& node) { return node.second == txn.path; });
    if (it == nodes_.end()) return;
    lives_[it->first].deleted_by_operator = txn.session == 0;
    Remove(it->first, {txn.zxid, now});
  } else if (txn.kind == Transaction::Kind::kCloseSession) {
    for (auto it = nodes_.begin(); it != nodes_.end();) {
      const int64_t czxid = (it++)->first;
      if (OwnerOf(czxid) == txn.session) Remove(czxid, {txn.zxid, now});
    }
  }
}

const QueueHistory::Life& QueueHistory::Of(int64_t czxid) const {
  static const Life none;
  const auto it = lives_.find(czxid);
  return it == lives_.end() ? none : it->second;
}

// In the order of the numbers. ZooKeeper's are those of its clients' nodes, which go on as negative
// ones past their end; a stranger's node has the number that it says.
void QueueHistory::Add(int64_t czxid, const std::string& path, zk::SessionId owner) {
  const auto name = queue::machine::ParseNodeName(zk::NodeName(path));
  if (!name.has_value()) return;
  Life& added = lives_[czxid];
  added.owner = owner;
  strangers_ |= owner == 0;
  added.reader = name->mode == queue::machine::Mode::kShared;
  added.permit = name->mode == queue::machine::Mode::kPermit;
  const bool wrapped = owner != 0 && name->sequence < 0;
  added.place = wrapped ? name->sequence + (int64_t{1} << 32) : name->sequence;
  added.too_late = ComesTooLate(added);
  order_.insert({added.place, czxid});
  nodes_[czxid] = path;
}

// Numbers of a contender's own grow: only a downgrade's node has one that was given before.
bool QueueHistory::ComesTooLate(const Life& added) const {
  const auto same_place = [&](const auto& life) {
    return &life.second != &added && life.second.owner == added.owner &&
           life.second.place == added.place && !life.second.reader;
  };
  const auto writer = std::ranges::find_if(lives_, same_place);
  return added.reader && added.owner != 0 && writer != lives_.end() &&
         writer->second.end.has_value();
}

void QueueHistory::Remove(int64_t czxid, End end) {
  Life& removed = lives_[czxid];
  removed.end = end;
  order_.erase({removed.place, czxid});
  nodes_.erase(czxid);
}

// A stranger's node blocks only by a lower number, and one that comes later than a contender's may
// go unseen by it.
bool QueueHistory::Blocks(int64_t front, int64_t czxid) const {
  if (Of(front).too_late) return false;
  if (Of(front).reader && Of(czxid).reader) return false;
  return OwnerOf(front) != 0 || (front < czxid && Of(front).place < Of(czxid).place);
}

// Those of a permit are all permits in front of it, if these are too many.
std::vector<int64_t> QueueHistory::BlockersOf(int64_t czxid) const {
  const Life& own = Of(czxid);
  std::vector<int64_t> blockers;
  std::vector<int64_t> permits;
  for (const auto& [place, front] : order_) {
    if (front == czxid) break;
    if (!Blocks(front, czxid)) continue;
    (own.permit && Of(front).permit ? permits : blockers).push_back(front);
  }
  if (permits.size() >= permits_) {
    blockers.insert(blockers.end(), permits.begin(), permits.end());
  }
  return blockers;
}

bool QueueHistory::IsAdmitted(int64_t czxid) const {
  return nodes_.count(czxid) > 0 && BlockersOf(czxid).empty();
}

// Nobody is admitted behind a second writer, nor behind as many permits as there are.
void QueueHistory::Admit() {
  size_t writers = 0;
  for (auto it = order_.begin(); it != order_.end() && writers < 2 + permits_; ++it) {
    const int64_t czxid = it->second;
    const std::vector<int64_t> blockers = BlockersOf(czxid);
    Life& node = lives_[czxid];
    if (blockers.empty()) node.admitted = true;
    if (blockers.size() == 1) node.admitted_behind.insert(blockers.front());
    if (!node.reader && node.owner != 0) ++writers;
  }
}

std::optional<base::BootTime> QueueHistory::EndOf(int64_t czxid) const {
  const std::optional<End>& end = Of(czxid).end;
  return end.has_value() ? std::optional(end->when) : std::nullopt;
}

bool QueueHistory::WasBornUnder(int64_t czxid, int64_t followed) const {
  return lives_.count(followed) > 0 && Of(followed).ThereAfter(czxid);
}

bool QueueHistory::MayWatch(int64_t czxid, const std::string& path) const {
  const Life& own = Of(czxid);
  if (own.permit) {
    // The node in front; and the first waiter, all that hold.
    const auto end = order_.find({own.place, czxid});
    const auto in_front = std::distance(order_.begin(), end);
    const bool is_first = in_front == static_cast<std::ptrdiff_t>(permits_);
    for (auto it = is_first || in_front == 0 ? order_.begin() : std::prev(end); it != end; ++it) {
      if (nodes_.at(it->second) == path) return true;
    }
    return false;
  }
  for (auto it = order_.find({own.place, czxid}); it != order_.end() && it != order_.begin();) {
    const int64_t other = (--it)->second;
    if (own.reader && Of(other).reader) continue;
    if (nodes_.at(other) == path) return true;
    if (OwnerOf(other) != own.owner) return false;
  }
  return false;
}

int QueueHistory::WritersSince(int64_t zxid) const {
  return static_cast<int>(std::count_if(lives_.begin(), lives_.end(), [&](const auto& entry) {
    return !entry.second.reader && entry.second.ThereAfter(zxid);
  }));
}

bool QueueHistory::CreatedByOthers(int64_t since, zk::SessionId session) const {
  return std::any_of(lives_.upper_bound(since), lives_.end(),
                     [&](const auto& entry) { return entry.second.owner != session; });
}

void HistoryReader::Follow() {
  const auto& history = model_.history();
  for (; read_ < history.size(); ++read_) {
    ForEachChange(history[read_], [this](const Transaction& change) {
      denied_ |= change.kind == Transaction::Kind::kSetAcl;
      Read(change);
    });
  }
}

bool HistoryReader::ExplainsRefusal(const Core& core, const absl::Status& status) const {
  return (closed_.count(core) > 0 && absl::IsFailedPrecondition(status)) ||
         (denied_ && absl::IsPermissionDenied(status)) ||
         (model_.refused_some() && absl::IsResourceExhausted(status));
}

void HistoryReader::CheckRefusal(const Core& core, internal::LeaseState& lease,
                                 const absl::Status& status, const std::string& write) const {
  // A client can learn that its session has expired before any server's tree shows it.
  bool holds = model_.SessionLives(core->session_id()) && lease.CheckAlive("").ok();
  const std::string path = core->name_space().ToServer(lease.sequencer().node);
  for (int i = 0; i < model_.servers(); ++i) {
    const auto* node = model_.tree(i).Find(path);
    holds &=
        node != nullptr && node->czxid == lease.node_czxid() && node->owner == core->session_id();
  }
  const bool explained = (absl::IsAborted(status) && !holds) ||
                         absl::IsUnavailable(status) ||  // the connection was lost time and again
                         ExplainsRefusal(core, status);
  if (!explained) break_("unexpected answer", absl::StrCat(write, ": ", status.ToString()));
}

}  // namespace zkrecipes::schedules
