// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/awaitable.h"

#include <atomic>
#include <optional>
#include <stop_token>
#include <utility>

#include "lib/base/process.h"
#include "zkrecipes/lease.h"

namespace zkrecipes::internal {
namespace {

// The Awaited whose call this thread is currently starting.
thread_local const void* starting = nullptr;

}  // namespace

// What the coroutine's frame shares with the completion; either may outlive the other. The one
// atomic decides which came first, and thereby whether the frame may be touched.
//
//   kWaiting --the answer--> kAnswered --await_resume--> kTaken
//       \----the frame is destroyed---> kAbandoned
template <typename T>
class Awaited {
 public:
  enum class Phase { kWaiting, kAnswered, kTaken, kAbandoned };

  // Passes a stop request on. It may be destroyed by what it causes.
  struct PassOn {
    std::stop_source to;
    void operator()() const {
      std::stop_source alive = to;
      alive.request_stop();
    }
  };

  void Answer(T given) {
    Phase waiting = Phase::kWaiting;
    // Abandoned: the answer is dropped here, and a lease in it is thereby released.
    if (!phase.compare_exchange_strong(waiting, Phase::kAnswered)) return;
    answer = std::move(given);
    // Inside await_suspend the coroutine is not resumed: await_suspend's result lets it continue.
    if (starting == this) {
      answered_at_once = true;
    } else {
      suspended.resume();
    }
  }

  const base::HomeProcess home;
  std::atomic<Phase> phase = Phase::kWaiting;
  std::coroutine_handle<> suspended;
  std::optional<T> answer;
  bool answered_at_once = false;  // used by the thread that starts the call
  std::stop_source stop;          // of the call
  std::optional<std::stop_callback<PassOn>> on_cancel;
};

template <typename T>
Awaiter<T>::Awaiter(AsyncStart<T> start, WaitOptions wait)
    : start_(std::move(start)), wait_(std::move(wait)), awaited_(std::make_shared<Awaited<T>>()) {}

template <typename T>
Awaiter<T>::~Awaiter() {
  using Phase = typename Awaited<T>::Phase;
  if (!awaited_->home.IsThisProcess()) {
    base::Leak(awaited_);
    return;
  }
  switch (awaited_->phase.exchange(Phase::kAbandoned)) {
    case Phase::kWaiting:
      awaited_->stop.request_stop();
      return;
    case Phase::kAnswered:
      base::Die("a coroutine was destroyed while it was being resumed with its answer");
    case Phase::kTaken:
    case Phase::kAbandoned:
      return;
  }
}

// Once the call has begun, another thread may resume the coroutine, and destroy it, at any
// moment: from then on only locals are used. (In a source of its own, since clang 14 may keep the
// locals of an inlined await_suspend in the frame.)
template <typename T>
bool Awaiter<T>::await_suspend(std::coroutine_handle<> suspended) {
  const std::shared_ptr<Awaited<T>> awaited = awaited_;
  AsyncStart<T> start = std::move(start_);
  WaitOptions wait = std::move(wait_);
  awaited->suspended = suspended;
  awaited->on_cancel.emplace(wait.cancel, typename Awaited<T>::PassOn{awaited->stop});
  wait.cancel = awaited->stop.get_token();
  const void* const outer = std::exchange(starting, awaited.get());
  std::move(start)(std::move(wait), [awaited](T answer) { awaited->Answer(std::move(answer)); });
  starting = outer;
  return !awaited->answered_at_once;
}

template <typename T>
T Awaiter<T>::await_resume() {
  awaited_->phase.store(Awaited<T>::Phase::kTaken);
  return *std::move(awaited_->answer);
}

template class Awaiter<absl::StatusOr<Lease>>;
template class Awaiter<absl::Status>;

}  // namespace zkrecipes::internal
