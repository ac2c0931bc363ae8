// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_JOINED_TASK_H_
#define ZKRECIPES_TESTING_JOINED_TASK_H_

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <semaphore>
#include <utility>

namespace zkrecipes::testing {

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

#endif  // ZKRECIPES_TESTING_JOINED_TASK_H_
