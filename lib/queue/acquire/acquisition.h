// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_ACQUISITION_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_ACQUISITION_H_

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/base/mutex.h"
#include "lib/queue/acquire/async_call.h"
#include "lib/queue/acquire/path_queue.h"
#include "lib/queue/listing/rivals.h"
#include "lib/queue/machine/candidacy.h"
#include "lib/queue/machine/node_name.h"
#include "lib/session/client/client_core.h"
#include "zkrecipes/acquire_options.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::acquire {

class ContenderRunner;
using Queue = std::shared_ptr<const internal::PathQueue>;

// A user's request for the head of a queue. It is answered exactly once, by whichever comes first:
// grant, refusal, timeout or cancellation. A grant that comes later is dropped, and thereby
// released. Thread-safe; does not block.
class Acquisition : public std::enable_shared_from_this<Acquisition> {
  struct OnlyHere {};  // its constructor is private, but for std::make_shared

 public:
  using Answer = absl::StatusOr<Lease>;
  using Done = absl::AnyInvocable<void(Answer) &&>;

  Acquisition(OnlyHere, Queue queue, const WaitOptions& wait, Done done);

  // Blocks for the answer: the blocking form of all recipes.
  static Answer Wait(const Queue& queue, const machine::Candidacy& candidacy,
                     const WaitOptions& wait);

  // `done` runs once, on any thread, perhaps inline.
  static void Start(const Queue& queue, const machine::Candidacy& candidacy,
                    const WaitOptions& wait, Done done);

  // Returns false if it has been answered already: then `answer` is dropped.
  bool Settle(Answer answer);
  bool settled() const { return settled_.load(); }
  // Of an answer without a lease; OK before that, and after a grant.
  absl::Status refusal() const;
  // Settles, and makes the contender leave the queue: AlreadyExists if it is known to be busy,
  // Unavailable without a connection, otherwise DeadlineExceeded.
  void TimeOut();
  // What the message says if it is given up. `in_front`: at most so many, when it listed them.
  void set_in_front(size_t count) { in_front_.store(count, std::memory_order_relaxed); }
  void Know(listing::Rivals rivals);
  void KnowBusy(listing::Rivals rivals);

  base::BootTime began() const { return began_; }
  base::BootTime deadline() const { return deadline_; }
  const internal::PathQueue& queue() const { return *queue_; }
  const std::string& path() const { return queue_->path; }
  const AcquireOptions& options() const { return queue_->options; }

 private:
  struct GiveUp {
    std::weak_ptr<Acquisition> acquisition;
    void operator()() const;
  };

  void Begin(machine::Candidacy candidacy, const std::stop_token& cancel);
  void Quit(absl::Status why);
  void LeaveQueue();
  absl::Status Late() const;
  std::string WaitedFor() const;

  const Queue queue_;
  const absl::Duration timeout_;
  const base::BootTime began_;
  const base::BootTime deadline_;
  std::atomic<bool> settled_ = false;
  Done done_;                              // belongs to the caller that sets settled_
  std::weak_ptr<ContenderRunner> runner_;  // set by Begin
  std::atomic<size_t> in_front_ = 0;
  mutable base::Mutex mutex_;
  std::unique_ptr<listing::Rivals> rivals_ ABSL_GUARDED_BY(mutex_);  // once it has looked
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::stop_callback<GiveUp>> on_cancel_;
};

// The forms in which recipes offer it. `done` runs once, on the client's executor.
absl::StatusOr<Lease> TryAcquire(const Queue& queue, machine::Candidacy candidacy,
                                 const WaitOptions& wait);
void AcquireAsync(const Queue& queue, const machine::Candidacy& candidacy, const WaitOptions& wait,
                  absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done);

// `candidacy` as it follows `lease` (null: moved from): completed with what its contender has to know
// of that lease. Errors: those that Follow adds to Acquire's. Does not block.
absl::StatusOr<machine::Candidacy> GoingOnFrom(const internal::PathQueue& queue,
                                               internal::LeaseState* lease, machine::Mode from,
                                               machine::Candidacy candidacy);

// Follows `lease` with another mode: the lease is released once the answer is OK, and unchanged
// otherwise. Errors besides Acquire's: InvalidArgument (it is not a lease of this client, of the
// path and of the mode `from`), Aborted (it is lost or released), FailedPrecondition (an upgrade: a
// writer is in front).
absl::StatusOr<Lease> Follow(const Queue& queue, Lease& lease, machine::Mode from,
                             machine::Candidacy candidacy, const WaitOptions& wait);

// The same without blocking: `lease` (null: moved from) is released just before `done` is told OK.
void FollowAsync(const Queue& queue, std::shared_ptr<internal::LeaseState> lease,
                 machine::Mode from, machine::Candidacy candidacy, const WaitOptions& wait,
                 absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done);

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_ACQUISITION_H_
