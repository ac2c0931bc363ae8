// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_COROUTINE_TYPES_H_
#define ZKRECIPES_TESTING_COROUTINE_TYPES_H_

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <semaphore>
#include <utility>

namespace zkrecipes::testing {

// The smallest task type: begins at once, has no owner, and frees its frame at its end. Until then
// code that knows it to be suspended may destroy it.
struct DetachedCoroutine {
  struct promise_type {
    DetachedCoroutine get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  std::coroutine_handle<> frame;
};

// A task type like most libraries': begins when it is awaited, owns its frame, and continues its
// awaiter by symmetric transfer.
template <typename T>
class LazyTask {
 public:
  struct promise_type {
    struct Continue {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        return ended.promise().awaiter;
      }
      void await_resume() noexcept {}
    };
    LazyTask get_return_object() {
      return LazyTask(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    Continue final_suspend() noexcept { return {}; }
    void return_value(T value) { result = std::move(value); }
    void unhandled_exception() { std::terminate(); }

    std::coroutine_handle<> awaiter;
    std::optional<T> result;
  };

  LazyTask(LazyTask&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  LazyTask& operator=(LazyTask&&) = delete;
  ~LazyTask() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiter) noexcept {
    frame_.promise().awaiter = awaiter;
    return frame_;
  }
  T await_resume() { return *std::move(frame_.promise().result); }

 private:
  explicit LazyTask(std::coroutine_handle<promise_type> frame) : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

// A task type for threads: begins at once, frees its frame at its end, and Join blocks until then
// for its result.
template <typename T>
class JoinedTask {
  struct Shared {
    std::binary_semaphore ended{0};
    std::optional<T> result;
  };

 public:
  struct promise_type {
    JoinedTask get_return_object() { return JoinedTask(shared); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(T value) { shared->result = std::move(value); }
    void unhandled_exception() { std::terminate(); }
    ~promise_type() { shared->ended.release(); }

    const std::shared_ptr<Shared> shared = std::make_shared<Shared>();
  };

  // REQUIRES: called once.
  T Join() {
    shared_->ended.acquire();
    return *std::move(shared_->result);
  }

 private:
  explicit JoinedTask(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_COROUTINE_TYPES_H_
