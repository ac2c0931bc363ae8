// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_ACQUISITION_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_ACQUISITION_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "lib/base/mutex.h"
#include "lib/queue/acquire/path_queue.h"
#include "lib/queue/call/call.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/queue/listing/queue_listing.h"
#include "lib/queue/machine/candidacy.h"
#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/node_name.h"
#include "zkrecipes/acquire_options.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::acquire {

class ContenderRunner;
using Queue = std::shared_ptr<const internal::PathQueue>;
using Answer = absl::StatusOr<Lease>;

// A user's request for the head of a queue, and what is known of those in front, for the message if
// it is given up. Its runner keeps the time. Thread-safe; does not block.
class Acquisition : public call::Call<Answer>, public internal::LeaseFollower {
 public:
  Acquisition(Queue queue, const WaitOptions& wait, call::Done<Answer> done);

  // Enters the queue. REQUIRES: `candidacy` and `wait` are valid.
  static std::shared_ptr<Acquisition> Begin(Queue queue, machine::Candidacy candidacy,
                                            const WaitOptions& wait, call::Done<Answer> done);

  // The lease that it goes on from has ended: so does the wait.
  void OnLeaseEnded() override;

  // The refusal, if any; OK while pending and after a grant.
  absl::Status refusal() const;
  // Why the session in which it queues, until then the client's first, has no connection; nullopt:
  // it has one.
  std::optional<std::string> CutOff() const;
  // Inputs of the message. `reach`: of the session in which it queues.
  void set_reach(std::shared_ptr<const session::Reach> reach);
  // `in_front`: at most so many, when it listed them.
  void set_in_front(size_t count) { in_front_.store(count, std::memory_order_relaxed); }
  size_t in_front() const { return in_front_.load(std::memory_order_relaxed); }
  void Know(listing::Rivals rivals);
  void KnowBusy(listing::Rivals rivals);
  // Whether, first in the queue, it waits for a lock delay. Meanwhile a try is busy.
  void set_delayed(bool delayed) { delayed_.store(delayed, std::memory_order_relaxed); }
  bool delayed() const { return delayed_.load(std::memory_order_relaxed); }
  // Gives the call up: its contender was first for so long, and its session was not proven.
  void LeaveUnproven(absl::Duration limit);

  const Queue& queue() const { return queue_; }
  const std::string& path() const { return queue_->path; }
  const AcquireOptions& options() const { return queue_->options; }

 private:
  // Makes the contender leave the queue.
  absl::Status GivenUp(bool cancelled) override;
  // AlreadyExists if the lock is known to be busy; Unavailable without a connection; otherwise
  // DeadlineExceeded.
  absl::Status WhyGivenUp(bool cancelled);
  void OnSettled(const Answer& answer) override;
  void StartTimer() override {}  // Wait has it
  std::string WaitedFor() const;

  const Queue queue_;
  std::weak_ptr<ContenderRunner> runner_;  // set by Begin, ...
  bool try_only_ = false;                  // ... as is this
  std::atomic<size_t> in_front_ = 0;
  std::atomic<bool> delayed_ = false;
  mutable base::Mutex mutex_;
  std::shared_ptr<const session::Reach> reach_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<listing::Rivals> rivals_ ABSL_GUARDED_BY(mutex_);  // once it has looked
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
};

// What a user is told about a contender's end; see lock.h for the codes. A try that was busy is
// answered by BusyStatus. `path`: as the user gave it.
absl::Status EndStatus(const machine::action::Finished& finished, const std::string& path,
                       const machine::Candidacy& candidacy);

// Acquires. A candidacy that is not OK is the answer.
call::Start<Answer> Enter(Queue queue, absl::StatusOr<machine::Candidacy> candidacy);

// Follows `lease` (null: it was moved from) with another mode. If the answer is OK, the lease is
// released just before it is given; otherwise the lease is unchanged. Errors besides Enter's:
// InvalidArgument (not a lease of this client, of the path and of the mode `from`), Aborted (the
// lease is lost or released), FailedPrecondition (an upgrade: a writer is in front).
call::Start<Answer> Follow(Queue queue, std::shared_ptr<internal::LeaseState> lease,
                           machine::Mode from, machine::Candidacy candidacy);

// Returns `candidacy`, completed with what its contender has to know of the `lease` that it follows
// (null: moved from). Errors: those that Follow adds to Enter's. Does not block.
absl::StatusOr<machine::Candidacy> GoingOnFrom(const internal::PathQueue& queue,
                                               internal::LeaseState* lease, machine::Mode from,
                                               machine::Candidacy candidacy);

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_ACQUISITION_H_
