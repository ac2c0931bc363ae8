// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/recursive_lock.h"

#include <atomic>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/mutex.h"
#include "lib/base/process.h"
#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/lease/lease_state.h"
#include "lib/session/client/client_options.h"

namespace zkrecipes {
namespace internal {

using HoldDone = queue::call::Done<absl::StatusOr<RecursiveLease>>;
using HoldStart = queue::call::Start<absl::StatusOr<RecursiveLease>>;
using queue::acquire::Enter;

// What the holds of an owner share.
struct OwnedLease {
  const std::shared_ptr<LeasesByOwner> owners;
  const std::string owner;
  Lease lease;  // moved from by the last hold
};

// The owners of a lock, each with a lease or on the way to one. Thread-safe. A forked child does
// nothing with it, since its mutex may have been copied while it was held.
class LeasesByOwner : public std::enable_shared_from_this<LeasesByOwner> {
 public:
  explicit LeasesByOwner(queue::acquire::Queue queue) : queue_(std::move(queue)) {}

  // The right of an owner that has no lease to acquire one; given back by its destruction.
  class Claim {
   public:
    Claim(std::shared_ptr<LeasesByOwner> owners, std::string owner)
        : owners_(std::move(owners)), owner_(std::move(owner)) {}
    Claim(Claim&&) = default;
    ~Claim() {
      if (owners_ != nullptr) owners_->GiveBack(owner_);
    }
    // The owner's first hold, if a lease was acquired.
    absl::StatusOr<RecursiveLease> Use(absl::StatusOr<Lease> acquired) && {
      if (!acquired.ok()) {
        const Claim given_back = std::move(*this);  // before the user hears of it
        return acquired.status();
      }
      return RecursiveLease(std::exchange(owners_, nullptr)->Put(owner_, *std::move(acquired)));
    }

   private:
    std::shared_ptr<LeasesByOwner> owners_;  // null when used, or moved from
    std::string owner_;
  };

  // A further hold of an owner, or the first, of a lease that is acquired for it.
  static HoldStart Holding(std::shared_ptr<LeasesByOwner> owners, std::string owner,
                           bool try_only) {
    const auto& core = owners->queue_->core;
    return {core,
            [owners = std::move(owners), owner = std::move(owner), try_only](
                const WaitOptions& wait, HoldDone& done) -> queue::call::Begun {
              absl::StatusOr<Turn> turn = owners->Begin(owner);
              if (!turn.ok()) return turn.status();
              // No request: the owner has the lease already.
              if (turn->hold.has_value()) {
                std::move(done)(*std::move(turn->hold));
                return nullptr;
              }
              queue::call::Done<absl::StatusOr<Lease>> acquired =
                  [claim = *std::move(turn->claim),
                   done = std::move(done)](absl::StatusOr<Lease> lease) mutable {
                    std::move(done)(std::move(claim).Use(std::move(lease)));
                  };
              return queue::call::Begin(
                  Enter(owners->queue_, queue::machine::Candidacy{.try_only = try_only}), wait,
                  std::move(acquired));
            }};
  }

  // What an owner gets: a claim, or a further hold.
  struct Turn {
    std::optional<Claim> claim = std::nullopt;
    std::optional<RecursiveLease> hold = std::nullopt;
  };
  absl::StatusOr<Turn> Begin(const std::string& owner) {
    if (owner.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("acquire ", path(), ": the owner is empty"));
    }
    base::MutexLock lock(mutex_);
    // The entry is made before the lease is asked for, so a second call of the same owner is
    // refused meanwhile and does not queue behind itself.
    const auto [it, is_new] = entries_.try_emplace(owner);
    if (is_new) return Turn{.claim = Claim(shared_from_this(), owner)};
    Entry& entry = it->second;
    const std::shared_ptr<OwnedLease> owned = entry.owned.lock();
    if (owned == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("acquire ", path(), ": the owner \"", owner,
                                                        "\" is acquiring it already, elsewhere"));
    }
    if (const auto end = owned->lease.end_reason()) {
      return absl::AbortedError(absl::StrCat("acquire ", path(), ": the lease held by the owner \"",
                                             owner, "\" was lost: ", Describe(*end),
                                             "; release all of it first"));
    }
    ++entry.holds;
    return Turn{.hold = RecursiveLease(owned)};
  }

  // Gives a hold up. Returns the lease if it was the last one.
  std::optional<Lease> GiveUp(OwnedLease& owned) {
    base::MutexLock lock(mutex_);
    const auto it = entries_.find(owned.owner);
    if (--it->second.holds > 0) return std::nullopt;
    entries_.erase(it);
    return std::move(owned.lease);
  }

  bool InHomeProcess() const { return home_.IsThisProcess(); }
  const std::string& path() const { return queue_->path; }

 private:
  struct Entry {
    std::weak_ptr<OwnedLease> owned;  // of its holds; empty: it is being acquired
    int holds = 0;
  };

  std::shared_ptr<OwnedLease> Put(const std::string& owner, Lease lease) {
    std::shared_ptr<OwnedLease> owned(new OwnedLease{shared_from_this(), owner, std::move(lease)});
    base::MutexLock lock(mutex_);
    entries_[owner] = {owned, 1};
    return owned;
  }
  void GiveBack(const std::string& owner) {
    if (!InHomeProcess()) return;
    base::MutexLock lock(mutex_);
    entries_.erase(owner);
  }

  const base::HomeProcess home_;
  const queue::acquire::Queue queue_;
  base::Mutex mutex_;
  std::unordered_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace internal

namespace {

using internal::LeasesByOwner;
using internal::OwnedLease;

// In a forked child it only makes sure that nothing is ever sent for it.
void Drop(std::shared_ptr<OwnedLease> owned) {
  if (owned == nullptr) return;
  if (!owned->owners->InHomeProcess()) return base::Leak(std::move(owned));
  (void)owned->owners->GiveUp(*owned);  // outside the mutex: the last one's lease is dropped
}

}  // namespace

// ---- RecursiveLease -----------------------------------------------------------------------------

RecursiveLease::RecursiveLease(std::shared_ptr<OwnedLease> owned) : owned_(std::move(owned)) {}

RecursiveLease& RecursiveLease::operator=(RecursiveLease&& other) noexcept {
  if (this != &other) Drop(std::exchange(owned_, std::move(other.owned_)));
  return *this;
}

RecursiveLease::~RecursiveLease() { Drop(std::move(owned_)); }

const Lease& RecursiveLease::lease() const {
  return owned_ == nullptr ? internal::LeaseMaker::None() : owned_->lease;
}

absl::Status RecursiveLease::Release(const WaitOptions& wait) && {
  if (owned_ == nullptr) return absl::FailedPreconditionError("release: a moved-from lease");
  const std::shared_ptr<OwnedLease> owned = std::move(owned_);
  if (!owned->owners->InHomeProcess()) {
    base::Leak(owned);
    return std::move(owned->lease).Release(wait);
  }
  // Before this hold is given up: then the lease may be another thread's to release.
  const absl::Status alive = internal::LeaseMaker::StateOf(owned->lease)->CheckAlive("release");
  if (std::optional<Lease> last = owned->owners->GiveUp(*owned)) {
    return (*std::move(last)).Release(wait);
  }
  const absl::Status wrong_wait = session::client::CheckWaitOptions(wait);
  return wrong_wait.ok() ? alive : wrong_wait;
}

// ---- RecursiveLock ------------------------------------------------------------------------------

RecursiveLock::RecursiveLock(std::shared_ptr<Client> client, std::string path,
                             const LockOptions& options)
    : client_(std::move(client)),
      owners_(std::make_shared<LeasesByOwner>(
          internal::PathQueue::Of(*client_, std::move(path), options))) {}

const std::string& RecursiveLock::path() const { return owners_->path(); }

absl::StatusOr<RecursiveLease> RecursiveLock::Acquire(const std::string& owner,
                                                      const WaitOptions& wait) const {
  return Blocking(LeasesByOwner::Holding(owners_, owner, /*try_only=*/false), wait);
}

absl::StatusOr<RecursiveLease> RecursiveLock::TryAcquire(const std::string& owner,
                                                         const WaitOptions& wait) const {
  return Blocking(LeasesByOwner::Holding(owners_, owner, /*try_only=*/true), wait);
}

void RecursiveLock::AcquireAsync(
    const std::string& owner, WaitOptions wait,
    absl::AnyInvocable<void(absl::StatusOr<RecursiveLease>) &&> done) const {
  Async(LeasesByOwner::Holding(owners_, owner, /*try_only=*/false), wait, std::move(done));
}

std::string OwnerOfThisThread() {
  static std::atomic<int64_t> last = 0;
  thread_local const int64_t number = ++last;
  return absl::StrCat("thread ", number);
}

}  // namespace zkrecipes
