// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "lib/base/mutex.h"
#include "verification/checker/event.h"
#include "verification/workload/recorder.h"
#include "verification/workload/resource.h"
#include "zkrecipes/acquire_options.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::history {

struct WorkerOptions {
  std::string servers;
  std::string name;     // Event::who
  std::string history;  // a file that is not there yet
  std::string root = "/soak";
  int paths = 2;  // of each recipe: "/soak/lock-0", "/soak/lock-1", "/soak/read_write-0", ...
  // "lock_delay" is a lock with a lock_delay of one session timeout.
  std::vector<std::string> recipes = {"lock", "lock_delay", "read_write", "election"};
  NameDialect dialect = NameDialect::kCurator;
  std::optional<NodeMarker> marker = {};  // of locks and elections
  bool beside_blind = false;
  int loops = 3;  // threads that take turns, on one client
  absl::Duration session_timeout = absl::Seconds(4);
  uint64_t seed = 1;
};

// The threads of one worker share this.
struct WorkerContext {
  const WorkerOptions& options;
  std::shared_ptr<Client> client;
  Recorder& recorder;
  ResourceClient& resource;
  std::stop_token stop;
  std::atomic<int64_t> attempts = 0;
};

// Takes turns until the context's `stop`: asks for some path in some way, writes to the resource
// while it holds it, gives it back in some way. Every choice depends on the seed.
void TakeTurns(WorkerContext& context, uint64_t seed);

// ---- to ask for a lease -------------------------------------------------------------------------

// One of the library's recipes on one path in one mode: what all of them can do.
struct Recipe {
  using OnLease = absl::AnyInvocable<void(absl::StatusOr<Lease>) &&>;

  std::string path;
  Event::Mode mode = Event::Mode::kExclusive;
  absl::Duration lock_delay = absl::ZeroDuration();  // LockOptions::lock_delay
  std::function<absl::StatusOr<Lease>(const WaitOptions&)> acquire;
  std::function<absl::StatusOr<Lease>(const WaitOptions&)> try_acquire;
  std::function<void(WaitOptions, OnLease)> acquire_async;
  // Of the read/write lock, else null: a lease of the other mode for one of this.
  std::function<absl::StatusOr<Lease>(Lease&, const WaitOptions&)> change = nullptr;
  // Of an election, else null.
  std::function<absl::Status(const Lease&, const std::string&, const WaitOptions&)> proclaim =
      nullptr;
};

// `kind`: see WorkerOptions::recipes. `mode` matters to the read/write lock only.
Recipe MakeRecipe(const WorkerContext& context, const std::string& kind, const std::string& path,
                  Event::Mode mode);

// ---- to use it ----------------------------------------------------------------------------------

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
  // Writes to the resource, whatever the lease says: whether it was accepted. nullopt if the
  // resource is gone.
  std::optional<bool> Write();
  // Records a kBelief with this to say.
  void Note(const std::string& detail) { Believe(0, detail); }

  // The ends. The first two release the lease, in the foreground and by its destructor.
  void Release();
  void Drop();
  // It is about to be downgraded: to be followed by Replaced, or by Release if that fails.
  void AboutToBeReplaced() { GiveUp(Now(), "downgrade"); }
  // An upgrade or a downgrade has released it; an upgrade at that time.
  void Replaced(int64_t at);

 private:
  // Of the grant's attempt. `at`: 0 is now.
  Event NewEvent(Event::What what, int64_t at = 0, const std::string& detail = "") const;
  Lease::State Believe(int64_t until, const std::string& detail);
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

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_
