// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LAZY_TASK_H_
#define ZKRECIPES_TESTING_LAZY_TASK_H_

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace zkrecipes::testing {

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

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LAZY_TASK_H_
