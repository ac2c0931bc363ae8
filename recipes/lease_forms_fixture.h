// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_LEASE_FORMS_FIXTURE_H_
#define ZKRECIPES_RECIPES_LEASE_FORMS_FIXTURE_H_

#include <memory>
#include <stop_token>
#include <utility>

#include "gmock/gmock.h"

#include "recipes/lock_fixture.h"
#include "testing/coroutine_types.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::testing::memory {

class LeaseFormsTest : public LockInMemoryTest {
 protected:
  auto Tell() {
    return [this](absl::Status status) {
      ++answers_;
      answer_ = std::move(status);
    };
  }
  auto Take() {
    return [this](absl::StatusOr<Lease> lease) {
      ++answers_;
      answer_ = lease.status();
      taken_ = std::move(lease);
    };
  }
  DetachedCoroutine CoRelease(Lease& lease, Duration timeout, std::stop_token cancel = {}) {
    const absl::Status status = co_await std::move(lease).CoRelease(timeout, cancel);
    Tell()(status);
  }
  DetachedCoroutine CoVerify(const Lease& lease, Duration timeout, std::stop_token cancel = {}) {
    const absl::Status status = co_await lease.CoVerify(timeout, cancel);
    Tell()(status);
  }
  // The only answer so far, which came since the last call.
  absl::StatusCode Answer() {
    EXPECT_EQ(std::exchange(answers_, 0), 1) << answer_;
    return answer_.code();
  }
  std::unique_ptr<LockUser> StartReader(bool shared, const char* path = kPath) {
    auto user = Start();
    const ReadWriteLock lock(user->client, path);
    if (shared) lock.AcquireSharedAsync({}, Take());
    if (!shared) lock.AcquireExclusiveAsync({}, Take());
    PassTime(absl::Seconds(1));
    EXPECT_EQ(Answer(), absl::StatusCode::kOk);
    user->result = std::move(taken_);
    return user;
  }

  int answers_ = 0;
  absl::Status answer_;
  absl::StatusOr<Lease> taken_ = absl::UnknownError("none");
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_RECIPES_LEASE_FORMS_FIXTURE_H_
