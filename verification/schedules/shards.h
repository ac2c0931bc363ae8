// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_SHARDS_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_SHARDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

#include "verification/schedules/queue_history.h"
#include "verification/schedules/watched_group.h"
#include "zkrecipes/group.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::schedules {

// Partitions in a LockWorld: members that share them, and perhaps a member of their group that
// shares none. Each slot is one member at a time.
class Shards : public WatchedGroup, public std::enable_shared_from_this<Shards> {
 public:
  static constexpr char kFirstLock[] = "/p/partitions/0";

  // Beside that, the seed decides how the members take part.
  struct Options {
    size_t partitions;
    size_t slots;
    uint64_t seed;
  };
  struct Work {
    OwnedPartition partition;
    const QueueHistory* queue;
    int64_t node = 0;
    base::BootTime gained;
    Lease::State state = Lease::State::kHeld;  // as the last Check saw it
    bool judged = false;                       // that it was asked to end

    bool believed() const {
      return state == Lease::State::kHeld || state == Lease::State::kSuspect;
    }
    bool HasTimeLeft() const { return partition.lease().remaining() > absl::ZeroDuration(); }
  };
  struct Member {
    Core core;
    size_t slot;
    std::string id;
    std::optional<Partitions::Running> running = {};
    // Of one that shares nothing.
    std::stop_source cancel = {};
    std::optional<Membership> membership = {};
    std::list<Work> works = {};
    PartitionsReport report = {};
    bool died = false;

    void Leave() {
      cancel.request_stop();
      running.reset();
      membership.reset();
    }
    void Destroy() {
      Leave();
      works.clear();
    }
    bool Refused() const { return running.has_value() && !running->status().ok(); }
  };
  // Of each partition who owns it, and its node. Null: nobody, or several.
  using Owners = std::vector<std::pair<const Member*, int64_t>>;

  Shards(testing::memory::ModelEnsemble& model, const QueueHistory& queue,
         std::function<void()> follow, Break on_broken, const Options& options);

  void Follow(base::BootTime now);  // reads on itself

  size_t slots() const { return slots_.size(); }
  bool IsMember(size_t slot) const { return slots_[slot] != nullptr; }
  void JoinOrLeave(size_t slot, const std::shared_ptr<Client>& client, AcquireOptions acquire);
  // The work of a slot, that of its earlier members included.
  size_t Works(size_t slot, bool asked) const;
  void EndAsked(size_t slot);
  void EndWork(size_t slot, size_t which);  // by itself. REQUIRES: which < Works(slot, false)
  void DestroyAll(const Core& core);        // that its user has
  void NoteClose(const Core& core);
  void NoteDeath(const Core& core);
  void Forget();  // at the end of the world: all is destroyed, and what comes of it not judged
  bool IsInertInAChild();  // destroys all
  int gained() const { return gained_; }

  void Check();  // after each move
  void CheckNothingIsLost(absl::FunctionRef<bool(base::BootTime granted)> settled);
  // Once it is calm: nullopt: everything is as it was promised to be. Otherwise what is not.
  std::optional<std::string> WhyUnsettled() const;
  Owners FindOwners() const;
  // What stays with its owner was not interrupted.
  void CheckKept(const Owners& before) const;
  void CheckNothingIsLeft() const;
  std::string Describe() const;

 private:
  void Start(Member& member, const std::shared_ptr<Client>& client, AcquireOptions acquire);
  void Join(Member& member, const std::shared_ptr<Client>& client, AcquireOptions acquire);
  void OnGained(Member& member, OwnedPartition partition);
  void OnEnded(Member& member, const absl::Status& status);
  void CheckWork(const Member& member, Work& work) const;
  void CheckBelief(const Member& member, const Work& work) const;
  void CheckReason(const Member& member, const Work& work) const;
  std::vector<Member*> Living() const;  // that are of a process that lives
  std::vector<Member*> EverIn(size_t slot) const;
  std::vector<Member*> Sharing() const;  // that take part now

  const uint64_t traits_;  // random bits
  std::map<std::string, QueueHistory> queues_;
  std::vector<std::shared_ptr<Member>> slots_;    // null: idle
  std::vector<std::shared_ptr<Member>> members_;  // all there ever were
  std::set<int64_t> granted_;
  int gained_ = 0;
  base::BootTime now_;
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_SHARDS_H_
