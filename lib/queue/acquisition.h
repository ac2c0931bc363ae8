// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUISITION_H_
#define ZKRECIPES_LIB_QUEUE_ACQUISITION_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/node_name.h"
#include "lib/session/client_core.h"
#include "zkrecipes/try_result.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::internal {

// What a recipe asks of the queue.
struct Candidacy {
  std::string path;  // as the user gave it
  queue::Mode mode = queue::Mode::kExclusive;
  bool try_only = false;
  absl::Duration lock_delay = absl::ZeroDuration();  // else: strict
  queue::Followed follows = {};                      // of an upgrade or a downgrade
  std::string data = {};      // of its node; empty: who is waiting, see owner.h
  absl::Status refusal = {};  // not OK: the recipe's own options are wrong
};

// A user's wish for a place at the head of a queue: answered exactly once, by whatever comes first
// of grant, refusal, timeout and cancellation. Thread-safe; does not block.
//
// A grant that comes too late is dropped, and thereby released.
class Acquisition : public std::enable_shared_from_this<Acquisition> {
 public:
  using Answer = absl::StatusOr<TryResult>;
  using Done = absl::AnyInvocable<void(Answer) &&>;

  // Waits. The blocking form of all recipes.
  static Answer Wait(const std::shared_ptr<ClientCore>& core, const Candidacy& candidacy,
                     const WaitOptions& wait);

  // `done` runs once, on any thread, perhaps inline.
  static void Start(const std::shared_ptr<ClientCore>& core, const Candidacy& candidacy,
                    const WaitOptions& wait, Done done);

  // False if it was answered before: `answer` is dropped.
  bool Settle(Answer answer);
  // Settles with DeadlineExceeded or Cancelled and has the contender leave the queue.
  void TimeOut();

  base::BootTime deadline() const { return deadline_; }
  const Candidacy& candidacy() const { return candidacy_; }

 private:
  struct GiveUp {
    std::weak_ptr<Acquisition> acquisition;
    void operator()() const;
  };

  Acquisition(std::shared_ptr<ClientCore> core, const Candidacy& candidacy, const WaitOptions& wait,
              Done done);
  void Begin(const std::stop_token& cancel);
  void Quit(absl::Status why);

  const std::shared_ptr<ClientCore> core_;
  const Candidacy candidacy_;
  const absl::Duration timeout_;
  const base::BootTime deadline_;
  std::atomic<bool> settled_ = false;
  Done done_;                    // of the one that settles
  std::function<void()> leave_;  // set by Begin before anybody can call it
  std::optional<std::stop_callback<GiveUp>> on_cancel_;
};

// A `done` that has the client's executor call `done`. (Inline in a forked child, which has no threads.)
Acquisition::Done OnExecutor(const ClientCore& core, Acquisition::Done done);

// The forms in which recipes offer it. `done` runs once, on the client's executor.
absl::StatusOr<Lease> Acquire(const Client& client, const Candidacy& candidacy,
                              const WaitOptions& wait);
absl::StatusOr<TryResult> TryAcquire(const Client& client, Candidacy candidacy,
                                     const WaitOptions& wait);
void AcquireAsync(const Client& client, const Candidacy& candidacy, const WaitOptions& wait,
                  absl::AnyInvocable<void(absl::StatusOr<Lease>) &&> done);

// `candidacy`, to go on from `lease`: with what its contender has to know of that. Errors: those that
// are Follow's own. Does not block.
absl::StatusOr<Candidacy> GoingOnFrom(const ClientCore& core, const Lease& lease, queue::Mode from,
                                      Candidacy candidacy);

// Goes on from `lease` with another mode: released once the answer is OK, untouched otherwise. Errors
// besides Acquire's: InvalidArgument (it is not a lease of this client, of `candidacy`'s path and of
// the mode `from`), Aborted (it is over), FailedPrecondition (an upgrade: a writer is in front).
absl::StatusOr<Lease> Follow(const Client& client, Lease& lease, queue::Mode from,
                             Candidacy candidacy, const WaitOptions& wait);

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_QUEUE_ACQUISITION_H_
