// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_DETACHED_COROUTINE_H_
#define ZKRECIPES_TESTING_DETACHED_COROUTINE_H_

#include <coroutine>
#include <exception>

namespace zkrecipes::testing {

// The smallest task type: begins at once, has no owner, and frees its frame at its end. Until then code
// that knows it to be suspended may destroy it.
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

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_DETACHED_COROUTINE_H_
