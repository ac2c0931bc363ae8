// SPDX-License-Identifier: Apache-2.0
//
// An acquire in coroutines of two task types, a lazy one and an eager one. (asio's: examples/async_acquire_test.cc.)

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "gmock/gmock.h"

#include "testing/detached_coroutine.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const char kPath[] = "/locks/ledger";

// As in cppcoro, folly or libunifex: begins when awaited, belongs to its awaiter, and continues it by
// symmetric transfer.
template <typename T>
class LazyTask {
 public:
  struct promise_type;
  using Frame = std::coroutine_handle<promise_type>;
  struct Continue {
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(Frame ended) noexcept { return ended.promise().awaiter; }
    void await_resume() noexcept {}
  };
  struct promise_type {
    LazyTask get_return_object() { return LazyTask(Frame::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Continue final_suspend() noexcept { return {}; }
    void return_value(T t) { value = std::move(t); }
    void unhandled_exception() { std::terminate(); }
    std::coroutine_handle<> awaiter = std::noop_coroutine();
    std::optional<T> value;
  };

  explicit LazyTask(Frame frame) : frame_(frame) {}
  LazyTask(LazyTask&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  LazyTask& operator=(LazyTask&&) = delete;
  ~LazyTask() {
    if (frame_) frame_.destroy();
  }
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) {
    frame_.promise().awaiter = awaiter;
    return frame_;
  }
  T await_resume() { return *std::move(frame_.promise().value); }
  void Begin() { frame_.resume(); }

 private:
  Frame frame_;
};

// A task type: Begin, in which nothing of the acquire is done but in the coroutine, and Destroy for a
// coroutine that is suspended. The status of the acquire is written to `status`.
class Lazy {
 public:
  void Begin(Lock lock, std::stop_token cancel, absl::Status& status) {
    outer_.emplace(Outer(std::move(lock), std::move(cancel), status));
    outer_->Begin();
  }
  void Destroy() { outer_.reset(); }

 private:
  static LazyTask<absl::StatusOr<Lease>> Inner(Lock lock, std::stop_token cancel) {
    co_return co_await lock.CoAcquire(absl::Hours(1), cancel);
  }
  static LazyTask<bool> Outer(Lock lock, std::stop_token cancel, absl::Status& status) {
    const auto lease = co_await Inner(lock, cancel);
    status = lease.status();
    co_return lease.ok();
  }
  std::optional<LazyTask<bool>> outer_;
};

class Eager {
 public:
  void Begin(Lock lock, std::stop_token cancel, absl::Status& status) {
    frame_ = Work(std::move(lock), std::move(cancel), status).frame;
  }
  void Destroy() { frame_.destroy(); }

 private:
  static DetachedCoroutine Work(Lock lock, std::stop_token cancel, absl::Status& status) {
    const auto lease = co_await lock.CoAcquire(absl::Hours(1), cancel);
    status = lease.status();
  }
  std::coroutine_handle<> frame_;
};

template <typename Task>
class TaskTypesInMemoryTest : public ::testing::Test {
 protected:
  // Behind the lock's holder.
  void Queue() {
    lock_.AcquireAsync({}, [this](auto lease) { held_ = std::move(lease); });
    ensemble_.RunUntilIdle();
    EXPECT_TRUE(held_.ok()) << held_.status();
    task_.Begin(lock_, stop_.get_token(), status_);
    ensemble_.RunUntilIdle();
    EXPECT_THAT(ensemble_.Paths(kPath), SizeIs(2));
    EXPECT_TRUE(absl::IsUnknown(status_)) << status_;
  }
  void Release() {
    held_ = absl::UnknownError("released");
    ensemble_.RunUntilIdle();
  }

  // A coroutine that still waits is resumed when the ensemble goes.
  absl::Status status_ = absl::UnknownError("not resumed");
  std::stop_source stop_;
  Task task_;
  InMemoryEnsemble ensemble_{{.manual = true}};
  const Lock lock_{*ensemble_.Connect({.executor = InlineExecutor()}), kPath};
  absl::StatusOr<Lease> held_;
};

using TaskTypes = ::testing::Types<Lazy, Eager>;
TYPED_TEST_SUITE(TaskTypesInMemoryTest, TaskTypes);

TYPED_TEST(TaskTypesInMemoryTest, IsGrantedAndReleasesAtItsEnd) {
  this->Queue();
  this->Release();
  EXPECT_EQ(this->status_, absl::OkStatus());
  EXPECT_THAT(this->ensemble_.Paths(kPath), IsEmpty());
}

TYPED_TEST(TaskTypesInMemoryTest, ACancellationWhileItIsQueuedLeavesTheQueue) {
  this->Queue();
  this->stop_.request_stop();
  this->ensemble_.RunUntilIdle();
  EXPECT_TRUE(absl::IsCancelled(this->status_)) << this->status_;
  EXPECT_THAT(this->ensemble_.Paths(kPath), SizeIs(1));
}

TYPED_TEST(TaskTypesInMemoryTest, AFrameThatIsDestroyedWhileItIsQueuedLeavesTheQueue) {
  this->Queue();
  this->task_.Destroy();
  this->ensemble_.RunUntilIdle();
  EXPECT_TRUE(absl::IsUnknown(this->status_)) << this->status_;
  EXPECT_THAT(this->ensemble_.Paths(kPath), SizeIs(1));
}

}  // namespace
}  // namespace zkrecipes::testing
