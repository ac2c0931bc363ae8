// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/std_adapters.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <unordered_map>
#include <utility>

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"
#include "lib/base/process.h"
#include "lib/base/random.h"
#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/lease/lease_state.h"

namespace zkrecipes {
namespace {

std::errc ErrcOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return std::errc::invalid_argument;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable:
      return std::errc::timed_out;
    case absl::StatusCode::kAborted:
      return std::errc::identifier_removed;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return std::errc::permission_denied;
    case absl::StatusCode::kFailedPrecondition:
      return std::errc::state_not_recoverable;
    case absl::StatusCode::kResourceExhausted:
      return std::errc::resource_unavailable_try_again;
    default:
      return std::errc::io_error;
  }
}

[[noreturn]] void Throw(const absl::Status& status) {
  throw std::system_error(std::make_error_code(ErrcOf(status.code())), status.ToString());
}

// The leases of one mutex, by thread. Thread-safe.
class LeasesByThread {
 public:
  bool Has() const {
    base::MutexLock lock(mutex_);
    return leases_.count(std::this_thread::get_id()) > 0;
  }
  // Put REQUIRES !Has(); the others REQUIRE Has().
  void Put(Lease lease) {
    base::MutexLock lock(mutex_);
    leases_.emplace(std::this_thread::get_id(), std::move(lease));
  }
  // The reference stays valid while other threads lock and unlock.
  const Lease& Get() const {
    base::MutexLock lock(mutex_);
    const auto it = leases_.find(std::this_thread::get_id());
    if (it == leases_.end()) base::Die("lease() of a mutex that this thread does not hold");
    return it->second;
  }
  Lease Take() {
    base::MutexLock lock(mutex_);
    auto node = leases_.extract(std::this_thread::get_id());
    if (node.empty()) base::Die("unlock of a mutex that this thread does not hold");
    return std::move(node.mapped());
  }

 private:
  mutable base::Mutex mutex_;
  std::unordered_map<std::thread::id, Lease> leases_ ABSL_GUARDED_BY(mutex_);
};

// Two threads that take a and b in different orders with std::lock may each be refused the mutex
// that the other has, release their own, and wait for the one they were refused. At the same pace
// that can go on for ever. So a refused thread pauses before it queues, for a random time that is
// long compared with a try, since it is not known how long the other thread takes. Thread-safe.
class Refusals {
 public:
  void Note(absl::Duration try_took) { last_.store(absl::ToInt64Microseconds(try_took) + 1); }

  // Uses the real clock, whatever clock the client has.
  void Pause() {
    const int64_t last = last_.exchange(0);
    if (last == 0) return;
    const absl::Duration longest = std::min(kTries * absl::Microseconds(last), kLongest);
    base::OneShot<char> never;
    (void)never.Take(base::BootNow() + base::Jittered(longest, base::RandomBits()));
  }

 private:
  static constexpr int kTries = 8;
  static constexpr absl::Duration kLongest = absl::Milliseconds(200);
  std::atomic<int64_t> last_ = 0;  // in microseconds
};

}  // namespace

namespace internal {

using queue::acquire::Enter;

// A recipe in one or two modes, and the leases held on it. A forked child leaks it.
class Adapter {
 public:
  Adapter(std::shared_ptr<Client> of, std::string path, queue::machine::Mode its_exclusive,
          const AcquireOptions& options)
      : client(std::move(of)),
        queue(PathQueue::Of(*client, std::move(path), options)),
        exclusive(its_exclusive) {}

  // An acquire by a thread that has no lease yet. What is granted is that thread's.
  absl::Status Acquire(bool shared, bool try_only, const WaitOptions& wait) {
    auto lease = Blocking(Enter(queue, {{.mode = shared ? queue::machine::Mode::kShared : exclusive,
                                         .try_only = try_only}}),
                          wait);
    if (lease.ok()) leases.Put(*std::move(lease));
    return lease.status();
  }

  void ExpectFree() const {
    // Another thread may have held the mutex inside as it was copied.
    if (!home.IsThisProcess()) {
      Throw(absl::FailedPreconditionError("the client belongs to the parent process"));
    }
    if (leases.Has()) {
      throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                              "lock " + queue->path + ": this thread has it already");
    }
  }

  const base::HomeProcess home;
  const std::shared_ptr<Client> client;
  const queue::acquire::Queue queue;
  const queue::machine::Mode exclusive;
  Refusals refusals;
  LeasesByThread leases;
};

AdapterBase::AdapterBase(std::shared_ptr<Adapter> adapter) : adapter_(std::move(adapter)) {}

AdapterBase::~AdapterBase() {
  if (!adapter_->home.IsThisProcess()) base::Leak(adapter_);
}

void AdapterBase::Lock(Mode mode) {
  adapter_->ExpectFree();
  adapter_->refusals.Pause();
  const absl::Status status =
      adapter_->Acquire(mode == Mode::kShared, /*try_only=*/false, WaitOptions());
  if (!status.ok()) Throw(status);
}

bool AdapterBase::TryLock(Mode mode) {
  adapter_->ExpectFree();
  const base::BootTime begin = base::BootNow();
  const absl::Status status = adapter_->Acquire(mode == Mode::kShared, /*try_only=*/true,
                                                {adapter_->client->session_timeout()});
  if (!status.ok() && !IsBusy(status)) Throw(status);
  // The next Lock, most likely this thread's, pauses before it queues.
  if (!status.ok()) adapter_->refusals.Note(base::BootNow() - begin);
  return status.ok();
}

bool AdapterBase::TryLockFor(Mode mode, absl::Duration timeout) {
  if (timeout <= absl::ZeroDuration()) return TryLock(mode);
  adapter_->ExpectFree();
  const absl::Status status =
      adapter_->Acquire(mode == Mode::kShared, /*try_only=*/false, {timeout});
  // The standard says false for "not in time"; without a connection that is all that is known.
  const bool late = absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status);
  if (!status.ok() && !late) Throw(status);
  return status.ok();
}

// Dropping the lease, outside any mutex, releases it.
void AdapterBase::unlock() noexcept {
  if (adapter_->home.IsThisProcess()) (void)adapter_->leases.Take();
}

// In a forked child: none. Another thread may have held the mutex inside as it was copied.
const Lease& AdapterBase::lease() const {
  return adapter_->home.IsThisProcess() ? adapter_->leases.Get() : LeaseMaker::None();
}

const std::string& AdapterBase::path() const { return adapter_->queue->path; }

}  // namespace internal

DistributedMutex::DistributedMutex(std::shared_ptr<Client> client, std::string path,
                                   const LockOptions& options)
    : AdapterBase(std::make_shared<internal::Adapter>(std::move(client), std::move(path),
                                                      queue::machine::Mode::kExclusive, options)) {}

DistributedSharedMutex::DistributedSharedMutex(std::shared_ptr<Client> client, std::string path,
                                               const ReadWriteLockOptions& options)
    : AdapterBase(std::make_shared<internal::Adapter>(
          std::move(client), std::move(path), queue::machine::Mode::kSharedWriter, options)) {}

}  // namespace zkrecipes
