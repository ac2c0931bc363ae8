// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_QUEUE_HISTORY_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_QUEUE_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "lib/base/boot_time.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/session/client/client_core.h"
#include "testing/memory/model_ensemble.h"

namespace zkrecipes::schedules {

// Follows the queue through every committed transaction, whether or not a client has seen it: the
// tree's own order, by which grants are judged. A node is named by its czxid.
class QueueHistory {
 public:
  // `permits`: of a semaphore; 0 if the queue is none.
  explicit QueueHistory(std::string queue, size_t permits = 0)
      : queue_(std::move(queue)), permits_(permits) {}

  // Reads on in the ensemble's history. REQUIRES: the ensemble keeps it.
  void Follow(const testing::memory::ModelEnsemble& ensemble, base::BootTime now);

  // Whether it has ever been first, or a reader with only readers in front, or a permit with fewer
  // permits in front than the semaphore has, and nothing else. An upgrade or downgrade
  // does not wait for the node that it goes on from: `followed` in front of it does not count.
  bool WasAdmitted(int64_t czxid, int64_t followed) const {
    return Of(czxid).admitted || Of(czxid).admitted_behind.count(followed) > 0;
  }
  // Whether it is there and would be admitted by a look at the queue as it is.
  bool IsAdmitted(int64_t czxid) const;
  // nullopt: it is still there.
  std::optional<base::BootTime> EndOf(int64_t czxid) const;
  // Whether it was there in the tree that the transaction `zxid` changed.
  bool WasThereAt(int64_t czxid, int64_t zxid) const {
    return lives_.count(czxid) > 0 && czxid < zxid && Of(czxid).ThereAfter(zxid);
  }
  // Whether `followed` was there when `czxid` was created.
  bool WasBornUnder(int64_t czxid, int64_t followed) const;
  // Whether it waits for the node at `path`: for the nearest one that blocks it, or for another
  // behind nodes of its own session, one of which it may follow.
  bool MayWatch(int64_t czxid, const std::string& path) const;
  // How many writers were there at `zxid` or have come since.
  int WritersSince(int64_t zxid) const;
  // Whether another session than this has created a node after `since`.
  bool CreatedByOthers(int64_t since, zk::SessionId session) const;
  zk::SessionId OwnerOf(int64_t czxid) const { return Of(czxid).owner; }
  // The node at the head; 0: the queue is empty.
  int64_t First() const { return order_.empty() ? 0 : order_.begin()->second; }
  // Whether it has ended other than by an operator.
  bool IsGone(int64_t czxid) const {
    return nodes_.count(czxid) == 0 && !Of(czxid).deleted_by_operator;
  }
  // Whether any contender was created by no session: another tenant's.
  bool strangers() const { return strangers_; }
  // Those that are there, and their paths.
  const std::map<int64_t, std::string>& nodes() const { return nodes_; }

 private:
  struct End {
    int64_t zxid;
    base::BootTime when;
  };
  struct Life {
    zk::SessionId owner = 0;
    bool reader = false;
    bool permit = false;
    // Its number; beyond the end of the numbers they go on. A downgrade's node takes the writer's.
    int64_t place = 0;
    // A downgrade's node that came when the writer's had gone: it will not be granted, and leaves.
    bool too_late = false;
    std::optional<End> end;
    bool deleted_by_operator = false;
    bool admitted = false;
    std::set<int64_t> admitted_behind;

    bool ThereAfter(int64_t zxid) const { return !end.has_value() || end->zxid > zxid; }
  };

  const Life& Of(int64_t czxid) const;
  void Read(const testing::memory::Transaction& txn, base::BootTime now);
  void Add(int64_t czxid, const std::string& path, zk::SessionId owner);
  void Remove(int64_t czxid, End end);
  bool ComesTooLate(const Life& added) const;
  bool Blocks(int64_t front, int64_t czxid) const;
  std::vector<int64_t> BlockersOf(int64_t czxid) const;
  void Admit();

  const std::string queue_;
  const size_t permits_;
  size_t read_ = 0;
  bool strangers_ = false;
  std::map<int64_t, Life> lives_;  // of all nodes there ever were
  std::map<int64_t, std::string> nodes_;
  std::set<std::pair<int64_t, int64_t>> order_;  // place, czxid
};

// Reads the ensemble's history beside a QueueHistory, and judges by it the writes of users under
// their leases: see Election and Register.
class HistoryReader {
 public:
  using Break = std::function<void(const std::string& rule, const std::string& what)>;
  using Core = std::shared_ptr<internal::ClientCore>;

  // `model` and `queue` outlive it. `follow` makes all read on in the ensemble's history.
  HistoryReader(testing::memory::ModelEnsemble& model, const QueueHistory& queue,
                std::function<void()> follow, Break on_broken)
      : model_(model), queue_(queue), follow_(std::move(follow)), break_(std::move(on_broken)) {}
  virtual ~HistoryReader() = default;

  void Follow();  // reads on itself; the queue's history has
  void NoteClose(const Core& core) { closed_.insert(core); }

 protected:
  // Of what a watcher is told in a session, so much at first may be of the session before.
  static constexpr int kUnordered = 2;

  virtual void Read(const testing::memory::Transaction& change) = 0;
  // Whether the client's end, an ACL or a server does.
  bool ExplainsRefusal(const Core& core, const absl::Status& status) const;
  // That neither the lease's end nor the client's, nor a server, explains why a write failed.
  void CheckRefusal(const Core& core, internal::LeaseState& lease, const absl::Status& status,
                    const std::string& write) const;

  testing::memory::ModelEnsemble& model_;
  const QueueHistory& queue_;
  const std::function<void()> follow_;
  const Break break_;
  bool denied_ = false;  // some ACL was changed
  std::set<Core> closed_;

 private:
  size_t read_ = 0;
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_QUEUE_HISTORY_H_
