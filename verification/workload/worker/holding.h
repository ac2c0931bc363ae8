// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_HOLDING_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_HOLDING_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"

#include "lib/base/mutex.h"
#include "verification/checker/event.h"
#include "verification/workload/worker/worker.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::history {

// A lease, and the history of its use from the grant to the release. For one thread, but the lease
// may be lost at any time.
class Holding {
 public:
  // Records the grant. `attempt` is its kInvoke.
  Holding(WorkerContext& context, const Event& attempt, Lease lease, int64_t granted_at);
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

  Lease& lease() { return lease_; }
  const Event& grant() const { return grant_; }
  bool lost() const { return lost_.stop_requested(); }

  // Looks at the lease and records what it says.
  Lease::State Look();
  // Asks the ensemble, and records that.
  void Verify(const WaitOptions& wait);
  // Writes to the resource, whatever the lease says: whether it was accepted. nullopt if the resource is
  // gone.
  std::optional<bool> Write();
  // Records a kBelief with this to say.
  void Note(const std::string& detail) { Believe(0, detail); }

  // The ends. The first two release the lease, in the foreground and by its destructor.
  void Release();
  void Drop();
  // It is about to be downgraded: to be followed by Replaced, or by Release if that fails.
  void AboutToBeReplaced();
  // An upgrade or a downgrade has released it; an upgrade at that time.
  void Replaced(int64_t at);

 private:
  // Of the grant's attempt. `at`: 0 is now.
  Event NewEvent(Event::What what, int64_t at = 0, const std::string& detail = "") const;
  Lease::State Believe(int64_t until, const std::string& detail);
  void OnLost();
  void TellIfLost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveUp(int64_t at, const std::string& detail);

  WorkerContext& context_;
  Lease lease_;
  const std::stop_token lost_;
  const Event grant_;
  base::Mutex mutex_;
  bool given_up_ ABSL_GUARDED_BY(mutex_) = false;
  bool told_ ABSL_GUARDED_BY(mutex_) = false;  // that it is lost
  std::optional<std::stop_callback<std::function<void()>>> on_lost_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_HOLDING_H_
