// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_CACHED_LOCAL_QUEUE_H_
#define ZKRECIPES_RECIPES_CACHED_LOCAL_QUEUE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/base/mutex.h"
#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/acquire/listeners.h"
#include "lib/queue/call/call.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/listing/children_watch.h"
#include "recipes/machine/kept_lock.h"
#include "zkrecipes/cached_lock.h"

namespace zkrecipes::internal {

// What the turns of one grant share. Its lease's end ends it.
struct Tenure : LeaseFollower {
  Tenure(std::weak_ptr<LocalQueue> of, Lease its_lease)
      : queue(std::move(of)), lease(std::move(its_lease)) {}
  bool believed() const;
  void OnLeaseEnded() override;

  const std::weak_ptr<LocalQueue> queue;
  const Lease lease;
  // Under its queue's mutex, or by whoever has taken it from there:
  std::shared_ptr<queue::listing::ChildrenWatch> watch = nullptr;
  int64_t told = 1;  // of its turns; the first is the grant's
};

// The threads of this process that want one lock, and the node that they share: drives one
// machine::KeptLock, of which each event is decided under the mutex, and carried out outside it.
// Thread-safe; the last owner lets the node go. In a forked child nothing of it is called.
class LocalQueue : public std::enable_shared_from_this<LocalQueue> {
 public:
  using Answer = absl::StatusOr<CachedLease>;
  enum class Form { kBlocking, kTry, kAsync };

  static std::shared_ptr<LocalQueue> Of(const Client& client, std::string path,
                                        const CachedLockOptions& options);
  LocalQueue(queue::acquire::Queue queue, const CachedLockOptions& options);
  ~LocalQueue();

  // If the lock is idle here and believed, the turn that begins; nothing is asked.
  std::optional<CachedLease> TakeIdle();
  static queue::call::Start<Answer> Entering(std::shared_ptr<LocalQueue> self, Form form);
  // Whether a caller now would have to wait for the servers rather than for another thread.
  bool AsksServers() const;
  // Ends the turn of the tenure, unless that has ended before.
  void EndTurn(const Tenure& tenure);
  void OnEnded(const Tenure& tenure);

  const ClientCore& core() const { return *queue_->core; }
  const std::string& path() const { return queue_->path; }

 private:
  using Machine = recipes::machine::KeptLock;
  using Waiting = std::shared_ptr<queue::call::Call<Answer>>;
  using Watch = std::shared_ptr<queue::listing::ChildrenWatch>;
  // Decided under the mutex; to be done, in order, once it is free.
  using Deed = absl::AnyInvocable<void() &&>;
  using Deeds = absl::InlinedVector<Deed, 2>;

  absl::StatusOr<std::shared_ptr<queue::call::Pending>> Enter(const WaitOptions& wait,
                                                              queue::call::Done<Answer>& done,
                                                              Form form);
  Waiting NewWaiting(const WaitOptions& wait, queue::call::Done<Answer> done, uint64_t waiter);
  queue::call::Done<Answer> ByReactor(queue::call::Done<Answer> done) const;
  absl::Status GiveUp(uint64_t waiter, absl::Duration timeout, bool cancelled);
  std::string InFront(uint64_t waiter) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<CachedLease> TakeIdleLocked(Deeds& deeds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // What happens to the tenure, unless it is over.
  void On(const Tenure& tenure, absl::FunctionRef<Machine::Actions(Machine&)> event);
  void Decide(Deeds& deeds, const Machine::Actions& actions,
              const absl::Status& refusal = absl::OkStatus()) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Deed DeedOf(const Machine::Action& action, const absl::Status& refusal)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Do(Deeds deeds);
  Waiting TakeWaiting(uint64_t waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The node: local_queue_node.cc.
  void Join(bool try_only, const std::stop_token& withdraw);
  void Withdraw(std::stop_source withdraw, queue::call::Pending* late);
  void OnAnswer(absl::StatusOr<Lease> lease);
  void Look(const std::shared_ptr<Tenure>& tenure);
  void OnListing(const Tenure& tenure, const absl::StatusOr<zk::Names>& children);
  bool OnChanged(const Tenure& tenure);
  void OnLookLate(const Tenure& tenure);
  Deed TellTurns() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckQuietLater();
  void OnQuietCheck();
  void CallAfter(absl::Duration pause, zk::Reactor::Task task) const;
  void StopWatch(Watch watch) const;

  const queue::acquire::Queue queue_;
  const absl::Status rule_;  // that the path or an option breaks
  const absl::Duration keep_idle_for_;
  const std::shared_ptr<const queue::acquire::Listeners> listeners_;

  mutable base::Mutex mutex_;
  Machine machine_ ABSL_GUARDED_BY(mutex_);
  uint64_t waiters_ ABSL_GUARDED_BY(mutex_) = 0;  // so far
  absl::flat_hash_map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Tenure> tenure_ ABSL_GUARDED_BY(mutex_);               // while there is a node
  std::stop_source withdraw_ ABSL_GUARDED_BY(mutex_){std::nostopstate};  // of the latest join
  std::weak_ptr<queue::acquire::Acquisition> join_ ABSL_GUARDED_BY(mutex_);
  std::optional<int32_t> sequence_ ABSL_GUARDED_BY(mutex_);  // of the latest node
  bool checks_quiet_ ABSL_GUARDED_BY(mutex_) = false;        // a check is to come
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_CACHED_LOCAL_QUEUE_H_
