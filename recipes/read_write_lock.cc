// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/read_write_lock.h"

#include <utility>

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/acquire/work_loop.h"
#include "lib/queue/lease/lease_state.h"

namespace zkrecipes {
namespace {

using internal::LeaseMaker;
using queue::acquire::Enter;
using queue::acquire::Follow;
using queue::acquire::Queue;
using queue::acquire::RunWork;
using queue::machine::Candidacy;
using queue::machine::Mode;
using LeaseDone = queue::call::Done<absl::StatusOr<Lease>>;
using LeaseStart = queue::call::Start<absl::StatusOr<Lease>>;

// Writers are named as Curator's write nodes, so that its InterProcessReadWriteLock sees them.
Candidacy Reader(bool try_only = false) { return {.mode = Mode::kShared, .try_only = try_only}; }
Candidacy Writer(bool try_only = false) {
  return {.mode = Mode::kSharedWriter, .try_only = try_only};
}

// Both queue anew at the tail and follow the old lease, which is released just before the answer:
// its holder is never without one of the two. An upgrade behind another writer is refused, since
// two readers that upgrade would wait for each other for ever.
LeaseStart Upgrading(const Queue& queue, const Lease& shared) {
  return Follow(queue, LeaseMaker::StateOf(shared), Mode::kShared, Writer());
}
LeaseStart Downgrading(const Queue& queue, const Lease& exclusive) {
  return Follow(queue, LeaseMaker::StateOf(exclusive), Mode::kSharedWriter, Reader());
}

}  // namespace

ReadWriteLock::ReadWriteLock(std::shared_ptr<Client> client, std::string path,
                             const ReadWriteLockOptions& options)
    : client_(std::move(client)),
      queue_(internal::PathQueue::Of(*client_, std::move(path), options)) {}

const std::string& ReadWriteLock::path() const { return queue_->path; }

absl::StatusOr<Lease> ReadWriteLock::AcquireShared(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Reader()), wait);
}
absl::StatusOr<Lease> ReadWriteLock::AcquireExclusive(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Writer()), wait);
}
absl::StatusOr<Lease> ReadWriteLock::TryAcquireShared(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Reader(/*try_only=*/true)), wait);
}
absl::StatusOr<Lease> ReadWriteLock::TryAcquireExclusive(const WaitOptions& wait) const {
  return Blocking(Enter(queue_, Writer(/*try_only=*/true)), wait);
}
void ReadWriteLock::AcquireSharedAsync(WaitOptions wait, LeaseDone done) const {
  Async(Enter(queue_, Reader()), wait, std::move(done));
}
void ReadWriteLock::AcquireExclusiveAsync(WaitOptions wait, LeaseDone done) const {
  Async(Enter(queue_, Writer()), wait, std::move(done));
}
LeaseAwaitable ReadWriteLock::CoAcquireShared(Duration timeout, std::stop_token cancel) const {
  return Co(Enter(queue_, Reader()), timeout, std::move(cancel));
}
LeaseAwaitable ReadWriteLock::CoAcquireExclusive(Duration timeout, std::stop_token cancel) const {
  return Co(Enter(queue_, Writer()), timeout, std::move(cancel));
}

absl::Status ReadWriteLock::RunWhileHoldingShared(std::stop_token stop, LeaseWork work,
                                                  const RunOptions& options) const {
  return RunWork(
      queue_->core, [self = *this](const WaitOptions& wait) { return self.AcquireShared(wait); },
      stop, std::move(work), options);
}
absl::Status ReadWriteLock::RunWhileHoldingExclusive(std::stop_token stop, LeaseWork work,
                                                     const RunOptions& options) const {
  return RunWork(
      queue_->core, [self = *this](const WaitOptions& wait) { return self.AcquireExclusive(wait); },
      stop, std::move(work), options);
}

absl::StatusOr<Lease> ReadWriteLock::Upgrade(Lease& shared, const WaitOptions& wait) const {
  return Blocking(Upgrading(queue_, shared), wait);
}
absl::StatusOr<Lease> ReadWriteLock::Downgrade(Lease& exclusive, const WaitOptions& wait) const {
  return Blocking(Downgrading(queue_, exclusive), wait);
}
void ReadWriteLock::UpgradeAsync(Lease& shared, WaitOptions wait, LeaseDone done) const {
  Async(Upgrading(queue_, shared), wait, std::move(done));
}
void ReadWriteLock::DowngradeAsync(Lease& exclusive, WaitOptions wait, LeaseDone done) const {
  Async(Downgrading(queue_, exclusive), wait, std::move(done));
}
LeaseAwaitable ReadWriteLock::CoUpgrade(Lease& shared, Duration timeout,
                                        std::stop_token cancel) const {
  return Co(Upgrading(queue_, shared), timeout, std::move(cancel));
}
LeaseAwaitable ReadWriteLock::CoDowngrade(Lease& exclusive, Duration timeout,
                                          std::stop_token cancel) const {
  return Co(Downgrading(queue_, exclusive), timeout, std::move(cancel));
}

}  // namespace zkrecipes
