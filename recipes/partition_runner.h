// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITION_RUNNER_H_
#define ZKRECIPES_RECIPES_PARTITION_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/queue/acquire/work_loop.h"
#include "lib/queue/call/call.h"
#include "lib/queue/listing/children_watch.h"
#include "lib/session/client/client_core.h"
#include "lib/session/subscriber.h"
#include "recipes/machine/partition_member.h"
#include "recipes/machine/partition_plan.h"
#include "zkrecipes/group.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::internal {

// What all calls of one Partitions have in common. Immutable.
class PartitionsCore {
 public:
  PartitionsCore(std::shared_ptr<Client> its_client, std::string at, std::vector<std::string> of,
                 PartitionsOptions its_options);

  const std::shared_ptr<Client> client;
  const std::string path;
  const std::vector<std::string> names;
  const PartitionsOptions options;  // with an id
  const std::string data;           // of the member
  const bool has_home;              // its id was given, so that it may come back under it
  const absl::Status rule;          // that something of these breaks: InvalidArgument

  Group group() const;
  std::string homes() const { return path + "/homes"; }
  std::string lock(size_t which) const { return path + "/partitions/" + names[which]; }
  recipes::machine::PartitionPlan Plan(const GroupView& view, zk::Names homes) const;
};

// One turn of a partition, from its grant until its lock is gone. Thread-safe, but for the lease,
// which is the user's while an OwnedPartition is there, and the runner's before and after that.
class PartitionState : public std::enable_shared_from_this<PartitionState> {
 public:
  PartitionState(std::shared_ptr<PartitionRunner> its_runner, size_t its_place,
                 std::string its_name, Lease its_lease);

  void HeedEnd();
  void RequestEnd(PartitionEnd why);
  // For the one who begins the work, or gives the partition back untold.
  bool Take() { return !taken_.exchange(true); }
  // From now on the end of the lease is no loss.
  void Releases() { released_ = true; }
  std::stop_token end() const { return end_.get_token(); }
  std::optional<PartitionEnd> reason() const;

  const std::shared_ptr<PartitionRunner> runner;
  const size_t which;
  const std::string name;
  Lease lease;

 private:
  struct OnEnd {
    std::weak_ptr<PartitionState> of;
    void operator()() const;
  };
  static constexpr int kNone = -1;

  std::stop_source end_;
  std::atomic<int> reason_ = kNone;
  std::atomic<bool> taken_ = false;
  std::atomic<bool> released_ = false;
  std::optional<std::stop_callback<OnEnd>> on_end_;  // destroyed first
};

// The latest report that has not been told yet, so that a slow receiver is told few. Thread-safe.
class LatestReport {
 public:
  // True: it is to be told. False: the one that is on its way is this one now.
  bool Put(const PartitionsReport& report) {
    base::MutexLock lock(mutex_);
    const bool first = !report_.has_value();
    report_ = report;
    return first;
  }
  PartitionsReport Take() {
    base::MutexLock lock(mutex_);
    return *std::exchange(report_, std::nullopt);
  }

 private:
  base::Mutex mutex_;
  std::optional<PartitionsReport> report_ ABSL_GUARDED_BY(mutex_);
};

// Drives one machine::PartitionMember: its place in the group, its locks, what it watches. All of
// it happens in tasks of the client's core, one after another. Keeps itself, and the client, until
// nothing of it is under way.
class PartitionRunner : public std::enable_shared_from_this<PartitionRunner> {
 public:
  static std::shared_ptr<PartitionRunner> Begin(std::shared_ptr<const PartitionsCore> of,
                                                PartitionEvents events);

  // Thread-safe; they do not block.
  void Drain();
  // Behind Drain or End: waits for the node in the group to go. Blocks. OK if there is none.
  absl::Status LeaveGroup(const WaitOptions& wait);
  void End(absl::Status why);  // all work; OK: it was asked to
  // `over` runs once nothing of it is left, or it is not known whether: on any thread.
  void WhenOver(absl::AnyInvocable<void(absl::Status) &&> over);
  absl::Status status() const;
  void Return(std::shared_ptr<PartitionState> state);
  // No receiver runs any more. Blocks while another thread runs one.
  void Mute();
  ClientCore& core() const { return *core_; }

 private:
  friend class PartitionState;
  using Member = recipes::machine::PartitionMember;
  struct Slot {
    uint64_t turn = 0;  // of the latest acquire: what comes of an earlier one is late
    std::stop_source withdraw{std::nostopstate};
    std::weak_ptr<queue::call::Pending> acquire;
    std::shared_ptr<PartitionState> state;  // from the grant until its lock is gone
    std::shared_ptr<const PathQueue> queue;
    std::shared_ptr<queue::listing::ChildrenWatch> demand;
    uint64_t demands = 0;  // watches so far: what comes of an earlier one is late
    queue::acquire::TurnPauses pauses;
    base::BootTime rested;
  };

  PartitionRunner(std::shared_ptr<const PartitionsCore> of, PartitionEvents events);
  template <typename Task>
  void Post(Task task);
  template <typename Task>
  void After(absl::Duration pause, Task task);
  bool IsLate(size_t which, uint64_t turn) const { return slots_[which].turn != turn; }

  void Start();
  void WatchHomes();
  void Join();
  void OnJoined(absl::StatusOr<Membership> membership);
  void OnView(absl::StatusOr<GroupView> view);
  void OnHomes(absl::StatusOr<zk::Names> homes);
  void Replan();
  void OnPlan(const recipes::machine::PartitionPlan& plan);
  void CheckMembership();
  bool IsSeen(int64_t spell) const;
  void MakeHome();
  void NoteHomes();
  void Fail(absl::Status why);
  void StopJoining();

  void CarryOut(const Member::Actions& actions);
  void Act(const Member::Action& action);
  void Acquire(size_t which);
  void LookAtAcquire(size_t which);
  void OnAnswer(size_t which, absl::StatusOr<Lease> lease);
  void HandOut(size_t which);
  void WatchDemand(size_t which);
  void OnQueue(size_t which, const absl::StatusOr<zk::Names>& queue);
  void AskFor(std::vector<std::pair<std::shared_ptr<PartitionState>, PartitionEnd>> asked);
  void Release(size_t which);
  void OnReleased(size_t which, const absl::Status& status);
  void Rest(size_t which);
  void Report();
  void CheckOver();

  const std::shared_ptr<const PartitionsCore> of_;
  const std::shared_ptr<ClientCore> core_;
  const PartitionEvents events_;
  const std::shared_ptr<session::Subscriber<absl::AnyInvocable<void()>>> subscriber_;
  std::atomic<bool> muted_ = false;

  // In tasks of the core's only.
  session::Session* session_ = nullptr;  // null: the client is closed
  std::shared_ptr<PartitionRunner> self_;
  Member member_;
  std::vector<Slot> slots_;
  uint64_t turns_ = 0;
  const Group group_;
  Subscription watch_;
  std::optional<GroupView> view_;  // the latest that was seen while connected
  std::shared_ptr<queue::listing::ChildrenWatch> homes_watch_;
  std::optional<zk::Names> homes_;
  std::vector<zkrecipes::Member> noted_;        // the members when homes were noted last
  std::map<std::string, base::BootTime> away_;  // homes, since this member has missed their ids
  std::stop_source stop_joining_;
  bool joining_ = false;
  bool leaving_ = false;
  std::optional<Membership> membership_;
  queue::acquire::TurnPauses join_pauses_;
  int64_t spell_ = 0;           // the token of its node in the group, as it was seen last
  base::BootTime holds_until_;  // for others that join
  base::BootTime seen_;         // in the group, last
  bool planning_ = false;       // on the executor
  bool outdated_ = false;       // ... and what it began with has changed
  bool joined_ = false;         // by the last view
  bool checks_ = false;         // a timer for the membership runs
  PartitionsReport report_;
  PartitionsReport told_;  // the last
  const std::shared_ptr<LatestReport> latest_ = std::make_shared<LatestReport>();
  std::vector<std::pair<std::shared_ptr<PartitionState>, PartitionEnd>> asked_;  // in CarryOut
  std::optional<absl::Status> unconfirmed_;  // of the last release that was not
  base::BootTime released_;

  mutable base::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> outcome_ ABSL_GUARDED_BY(mutex_);  // once it is over
  std::vector<absl::AnyInvocable<void(absl::Status) &&>> waiters_ ABSL_GUARDED_BY(mutex_);
};

struct PartitionMaker {
  static OwnedPartition Make(std::shared_ptr<PartitionState> state) {
    return OwnedPartition(std::move(state));
  }
  static std::shared_ptr<PartitionRunner> RunnerOf(const OwnedPartition& owned) {
    return owned.state_->runner;
  }
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITION_RUNNER_H_
