// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/read_write_lock.h"

#include <utility>

#include "lib/queue/acquire/acquisition.h"
#include "lib/queue/lease/lease_state.h"

namespace zkrecipes {
namespace {

using internal::LeaseMaker;
using Done = absl::AnyInvocable<void(absl::StatusOr<Lease>) &&>;

queue::machine::Candidacy Reader() { return {.mode = queue::machine::Mode::kShared}; }
queue::machine::Candidacy Writer() { return {.mode = queue::machine::Mode::kSharedWriter}; }

}  // namespace

ReadWriteLock::ReadWriteLock(std::shared_ptr<Client> client, std::string path,
                             const ReadWriteLockOptions& options)
    : client_(std::move(client)),
      queue_(internal::PathQueue::Of(*client_, std::move(path), options)) {}

const std::string& ReadWriteLock::path() const { return queue_->path; }

absl::StatusOr<Lease> ReadWriteLock::AcquireShared(const WaitOptions& wait) const {
  return queue::acquire::Acquisition::Wait(queue_, Reader(), wait);
}

absl::StatusOr<Lease> ReadWriteLock::AcquireExclusive(const WaitOptions& wait) const {
  return queue::acquire::Acquisition::Wait(queue_, Writer(), wait);
}

absl::StatusOr<Lease> ReadWriteLock::TryAcquireShared(const WaitOptions& wait) const {
  return queue::acquire::TryAcquire(queue_, Reader(), wait);
}

absl::StatusOr<Lease> ReadWriteLock::TryAcquireExclusive(const WaitOptions& wait) const {
  return queue::acquire::TryAcquire(queue_, Writer(), wait);
}

void ReadWriteLock::AcquireSharedAsync(WaitOptions wait, Done done) const {
  queue::acquire::AcquireAsync(queue_, Reader(), wait, std::move(done));
}

void ReadWriteLock::AcquireExclusiveAsync(WaitOptions wait, Done done) const {
  queue::acquire::AcquireAsync(queue_, Writer(), wait, std::move(done));
}

absl::StatusOr<Lease> ReadWriteLock::Upgrade(Lease& shared, const WaitOptions& wait) const {
  return queue::acquire::Follow(queue_, shared, queue::machine::Mode::kShared, Writer(), wait);
}

absl::StatusOr<Lease> ReadWriteLock::Downgrade(Lease& exclusive, const WaitOptions& wait) const {
  return queue::acquire::Follow(queue_, exclusive, queue::machine::Mode::kSharedWriter, Reader(),
                                wait);
}

void ReadWriteLock::UpgradeAsync(Lease& shared, WaitOptions wait, Done done) const {
  queue::acquire::FollowAsync(queue_, LeaseMaker::StateOf(shared), queue::machine::Mode::kShared,
                              Writer(), wait, std::move(done));
}

void ReadWriteLock::DowngradeAsync(Lease& exclusive, WaitOptions wait, Done done) const {
  queue::acquire::FollowAsync(queue_, LeaseMaker::StateOf(exclusive),
                              queue::machine::Mode::kSharedWriter, Reader(), wait, std::move(done));
}

LeaseAwaitable ReadWriteLock::CoUpgrade(Lease& shared, Duration timeout,
                                        std::stop_token cancel) const {
  return {[lock = *this, old = LeaseMaker::StateOf(shared)](const WaitOptions& wait, Done done) {
            queue::acquire::FollowAsync(lock.queue_, old, queue::machine::Mode::kShared, Writer(),
                                        wait, std::move(done));
          },
          {timeout, std::move(cancel)}};
}

LeaseAwaitable ReadWriteLock::CoDowngrade(Lease& exclusive, Duration timeout,
                                          std::stop_token cancel) const {
  return {[lock = *this, old = LeaseMaker::StateOf(exclusive)](const WaitOptions& wait, Done done) {
            queue::acquire::FollowAsync(lock.queue_, old, queue::machine::Mode::kSharedWriter,
                                        Reader(), wait, std::move(done));
          },
          {timeout, std::move(cancel)}};
}

LeaseAwaitable ReadWriteLock::CoAcquireShared(Duration timeout, std::stop_token cancel) const {
  return {[lock = *this](WaitOptions wait, Done done) mutable {
            lock.AcquireSharedAsync(std::move(wait), std::move(done));
          },
          {timeout, std::move(cancel)}};
}

LeaseAwaitable ReadWriteLock::CoAcquireExclusive(Duration timeout, std::stop_token cancel) const {
  return {[lock = *this](WaitOptions wait, Done done) mutable {
            lock.AcquireExclusiveAsync(std::move(wait), std::move(done));
          },
          {timeout, std::move(cancel)}};
}

}  // namespace zkrecipes
