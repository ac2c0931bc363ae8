// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_ASYNC_CALL_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_ASYNC_CALL_H_

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/session/client/client_core.h"
#include "lib/zk/seam/reactor.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::acquire {

// A `done` that runs on the client's executor; inline in a forked child, which has no threads.
template <typename T>
absl::AnyInvocable<void(T) &&> OnExecutor(const internal::ClientCore& core,
                                          absl::AnyInvocable<void(T) &&> done) {
  if (!core.InHomeProcess()) return done;
  return [executor = core.executor(), done = std::move(done)](T answer) mutable {
    executor->Execute([done = std::move(done), answer = std::move(answer)]() mutable {
      std::move(done)(std::move(answer));
    });
  };
}

// A user's question that is answered by a Status. It is answered exactly once, by whichever comes
// first: Settle, timeout or cancellation. Thread-safe; does not block.
class AsyncCall : public std::enable_shared_from_this<AsyncCall> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  // `done` runs once, on any thread, perhaps inline. `late`: the message of DeadlineExceeded and of
  // Cancelled. The one who can answer keeps the call alive: once it is let go, `done` never runs.
  static std::shared_ptr<AsyncCall> Begin(std::shared_ptr<internal::ClientCore> core,
                                          const WaitOptions& wait, std::string late, Done done);

  // No effect if it has been answered already.
  void Settle(absl::Status answer);
  bool settled() const { return settled_; }

 private:
  struct GiveUp {
    std::weak_ptr<AsyncCall> call;
    void operator()() const;
  };

  AsyncCall(std::shared_ptr<internal::ClientCore> core, std::string late, Done done);
  void StartTimer(base::BootTime deadline);

  const std::shared_ptr<internal::ClientCore> core_;
  const std::string late_;
  std::atomic<bool> settled_ = false;
  Done done_;                       // belongs to the caller that sets settled_
  bool timed_ = false;              // there is a deadline; set before it is shared
  zk::Reactor::TimerId timer_ = 0;  // on the reactor only
  std::optional<std::stop_callback<GiveUp>> on_cancel_;
};

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_ASYNC_CALL_H_
