// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/std_adapters.h"

#include <algorithm>
#include <atomic>
#include <optional>
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

const Lease& NoLease() {
  static const Lease* const kNone = new Lease(internal::LeaseMaker::Make(nullptr));
  return *kNone;
}

}  // namespace

namespace internal {

using queue::acquire::Enter;

// A recipe in one or two modes, and the leases held on it. A forked child leaks it.
class Adapter {
 public:
  Adapter(std::shared_ptr<Client> client, std::string path, queue::machine::Mode exclusive,
          const AcquireOptions& options)
      : client_(std::move(client)),
        queue_(PathQueue::Of(*client_, std::move(path), options)),
        exclusive_(exclusive) {}

  void Lock(bool shared) {
    ExpectFree();
    refusals_.Pause();
    auto lease = Blocking(Enter(queue_, CandidacyFor(shared)), {});
    if (!lease.ok()) Throw(lease.status());
    leases_.Put(*std::move(lease));
  }

  bool TryLock(bool shared) {
    ExpectFree();
    const base::BootTime begin = base::BootNow();
    queue::machine::Candidacy candidacy = CandidacyFor(shared);
    candidacy.try_only = true;
    auto result = Blocking(Enter(queue_, std::move(candidacy)), {client_->session_timeout()});
    if (result.ok()) {
      leases_.Put(*std::move(result));
      return true;
    }
    if (!IsBusy(result.status())) Throw(result.status());
    // The next Lock of this thread pauses before it queues.
    refusals_.Note(base::BootNow() - begin);
    return false;
  }

  bool TryLockFor(bool shared, absl::Duration timeout) {
    ExpectFree();
    auto lease = Blocking(Enter(queue_, CandidacyFor(shared)), {timeout});
    const absl::Status& status = lease.status();
    // The standard says false for "not in time"; without a connection that is all that is known.
    if (absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status)) return false;
    if (!lease.ok()) Throw(lease.status());
    leases_.Put(*std::move(lease));
    return true;
  }

  // Dropping the lease, outside any mutex, releases it.
  void Unlock() {
    if (home_.IsThisProcess()) (void)leases_.Take();
  }

  // In a forked child: none. Another thread may have held the mutex inside as it was copied.
  const Lease& lease() const { return home_.IsThisProcess() ? leases_.Get() : NoLease(); }
  const std::string& path() const { return queue_->path; }
  bool InHomeProcess() const { return home_.IsThisProcess(); }

 private:
  // In a forked child the mutex inside may have been copied while it was held.
  void ExpectFree() const {
    if (!home_.IsThisProcess()) {
      Throw(absl::FailedPreconditionError("the client belongs to the parent process"));
    }
    if (leases_.Has()) {
      throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                              "lock " + path() + ": this thread has it already");
    }
  }
  queue::machine::Candidacy CandidacyFor(bool shared) const {
    return {.mode = shared ? queue::machine::Mode::kShared : exclusive_};
  }

  const base::HomeProcess home_;
  const std::shared_ptr<Client> client_;
  const queue::acquire::Queue queue_;
  const queue::machine::Mode exclusive_;
  Refusals refusals_;
  LeasesByThread leases_;
};

AdapterBase::AdapterBase(std::shared_ptr<Adapter> adapter) : adapter_(std::move(adapter)) {}

AdapterBase::~AdapterBase() {
  if (!adapter_->InHomeProcess()) base::Leak(adapter_);
}

void AdapterBase::Lock(Mode mode) { adapter_->Lock(mode == Mode::kShared); }
bool AdapterBase::TryLock(Mode mode) { return adapter_->TryLock(mode == Mode::kShared); }
bool AdapterBase::TryLockFor(Mode mode, absl::Duration timeout) {
  if (timeout <= absl::ZeroDuration()) return TryLock(mode);
  return adapter_->TryLockFor(mode == Mode::kShared, timeout);
}
void AdapterBase::unlock() noexcept { adapter_->Unlock(); }
const Lease& AdapterBase::lease() const { return adapter_->lease(); }
const std::string& AdapterBase::path() const { return adapter_->path(); }

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
