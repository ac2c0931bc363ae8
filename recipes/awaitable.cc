// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/awaitable.h"

#include <atomic>
#include <optional>
#include <stop_token>
#include <utility>

#include "lib/base/die.h"
#include "lib/base/process.h"

namespace zkrecipes::internal {
namespace {

// The acquire that this thread is currently starting.
thread_local const Awaited* starting = nullptr;

}  // namespace

// What the coroutine's frame shares with the completion; either may outlive the other. The one
// atomic decides which came first, and thereby whether the frame may be touched.
//
//   kWaiting --the answer--> kAnswered --await_resume--> kTaken
//       \----the frame is destroyed---> kAbandoned
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

  void Answer(absl::StatusOr<Lease> lease) {
    Phase waiting = Phase::kWaiting;
    // Abandoned: the answer is dropped here, and a lease in it is thereby released.
    if (!phase.compare_exchange_strong(waiting, Phase::kAnswered)) return;
    answer = std::move(lease);
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
  std::optional<absl::StatusOr<Lease>> answer;
  bool answered_at_once = false;  // used by the thread that starts the acquire
  std::stop_source stop;          // of the acquire
  std::optional<std::stop_callback<PassOn>> on_cancel;
};

LeaseAwaiter::LeaseAwaiter(AcquireStart start, WaitOptions wait)
    : start_(std::move(start)), wait_(std::move(wait)), awaited_(std::make_shared<Awaited>()) {}

LeaseAwaiter::~LeaseAwaiter() {
  if (!awaited_->home.IsThisProcess()) {
    base::Leak(awaited_);
    return;
  }
  switch (awaited_->phase.exchange(Awaited::Phase::kAbandoned)) {
    case Awaited::Phase::kWaiting:
      awaited_->stop.request_stop();
      return;
    case Awaited::Phase::kAnswered:
      base::Die("a coroutine was destroyed while it was being resumed with a lease");
    case Awaited::Phase::kTaken:
    case Awaited::Phase::kAbandoned:
      return;
  }
}

// Once the acquire has begun, another thread may resume the coroutine, and destroy it, at any
// moment: from then on only locals are used. (In a source of its own, since clang 14 may keep the
// locals of an inlined await_suspend in the frame.)
bool LeaseAwaiter::await_suspend(std::coroutine_handle<> suspended) {
  const std::shared_ptr<Awaited> awaited = awaited_;
  AcquireStart start = std::move(start_);
  WaitOptions wait = std::move(wait_);
  awaited->suspended = suspended;
  awaited->on_cancel.emplace(wait.cancel, Awaited::PassOn{awaited->stop});
  wait.cancel = awaited->stop.get_token();
  const Awaited* const outer = std::exchange(starting, awaited.get());
  std::move(start)(std::move(wait),
                   [awaited](absl::StatusOr<Lease> lease) { awaited->Answer(std::move(lease)); });
  starting = outer;
  return !awaited->answered_at_once;
}

absl::StatusOr<Lease> LeaseAwaiter::await_resume() {
  awaited_->phase.store(Awaited::Phase::kTaken);
  return *std::move(awaited_->answer);
}

}  // namespace zkrecipes::internal
