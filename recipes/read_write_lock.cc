// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/read_write_lock.h"

#include <utility>

#include "lib/queue/acquisition.h"

namespace zkrecipes {
namespace {

using Done = absl::AnyInvocable<void(absl::StatusOr<Lease>) &&>;

internal::Candidacy Reader(const std::string& path) {
  return {.path = path, .mode = queue::Mode::kShared};
}

internal::Candidacy Writer(const std::string& path) {
  return {.path = path, .mode = queue::Mode::kSharedWriter};
}

}  // namespace

ReadWriteLock::ReadWriteLock(std::shared_ptr<Client> client, std::string path)
    : client_(std::move(client)), path_(std::move(path)) {}

absl::StatusOr<Lease> ReadWriteLock::AcquireShared(const WaitOptions& wait) {
  return internal::Acquire(*client_, Reader(path_), wait);
}

absl::StatusOr<Lease> ReadWriteLock::AcquireExclusive(const WaitOptions& wait) {
  return internal::Acquire(*client_, Writer(path_), wait);
}

absl::StatusOr<TryResult> ReadWriteLock::TryAcquireShared(const WaitOptions& wait) {
  return internal::TryAcquire(*client_, Reader(path_), wait);
}

absl::StatusOr<TryResult> ReadWriteLock::TryAcquireExclusive(const WaitOptions& wait) {
  return internal::TryAcquire(*client_, Writer(path_), wait);
}

void ReadWriteLock::AcquireSharedAsync(WaitOptions wait, Done done) {
  internal::AcquireAsync(*client_, Reader(path_), wait, std::move(done));
}

void ReadWriteLock::AcquireExclusiveAsync(WaitOptions wait, Done done) {
  internal::AcquireAsync(*client_, Writer(path_), wait, std::move(done));
}

absl::StatusOr<Lease> ReadWriteLock::Upgrade(Lease& shared, const WaitOptions& wait) {
  return internal::Follow(*client_, shared, queue::Mode::kShared, Writer(path_), wait);
}

absl::StatusOr<Lease> ReadWriteLock::Downgrade(Lease& exclusive, const WaitOptions& wait) {
  return internal::Follow(*client_, exclusive, queue::Mode::kSharedWriter, Reader(path_), wait);
}

LeaseAwaitable ReadWriteLock::AcquireSharedAsync(absl::Duration timeout, std::stop_token cancel) {
  return {[lock = *this](WaitOptions wait, Done done) mutable {
            lock.AcquireSharedAsync(std::move(wait), std::move(done));
          },
          {timeout, std::move(cancel)}};
}

LeaseAwaitable ReadWriteLock::AcquireExclusiveAsync(absl::Duration timeout,
                                                    std::stop_token cancel) {
  return {[lock = *this](WaitOptions wait, Done done) mutable {
            lock.AcquireExclusiveAsync(std::move(wait), std::move(done));
          },
          {timeout, std::move(cancel)}};
}

}  // namespace zkrecipes
