// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_CALL_CALL_H_
#define ZKRECIPES_LIB_QUEUE_CALL_CALL_H_

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/base/one_shot.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/reactor.h"
#include "zkrecipes/awaitable.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::call {

template <typename T>
using Done = absl::AnyInvocable<void(T) &&>;

// What a user waits for: an acquire, a release, a guarded write, a question to the ensemble. It is
// settled exactly once, by whichever comes first:
//
//   pending --its answer, on the reactor or where it was asked------------> settled
//      |------the client closes: who was asked answers FailedPrecondition------^
//      |------its deadline, on the reactor or on the thread that blocks--------^
//      \------a stop request of WaitOptions::cancel, on the requesting thread--^
//
// Whatever comes later has no effect: a lease that is granted too late is dropped, and thereby
// released. Who can answer keeps the call alive. Thread-safe; does not block.
class Pending : public std::enable_shared_from_this<Pending> {
 public:
  Pending(std::shared_ptr<internal::ClientCore> core, const WaitOptions& wait);
  virtual ~Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  const std::shared_ptr<internal::ClientCore>& core() const { return core_; }
  absl::Duration timeout() const { return timeout_; }
  base::BootTime began() const { return began_; }
  base::BootTime deadline() const { return deadline_; }
  bool settled() const { return settled_.load(); }

  // Settles the call, if it is still pending, with what it says when it is given up.
  void TimeOut() { GiveUp(/*cancelled=*/false); }
  // Has the reactor call TimeOut at the deadline, unless whoever was asked does so by itself.
  virtual void StartTimer();
  // Settles the call at a stop request; at once if there was one. Once.
  void HeedCancel(const std::stop_token& cancel);

 protected:
  virtual void GiveUp(bool cancelled) = 0;
  // True for the one caller that settles the call.
  bool SettleOnce();

 private:
  struct OnCancel {
    std::weak_ptr<Pending> call;
    void operator()() const;
  };

  const std::shared_ptr<internal::ClientCore> core_;
  const absl::Duration timeout_;
  const base::BootTime began_;
  const base::BootTime deadline_;
  std::atomic<bool> settled_ = false;
  std::atomic<bool> timed_ = false;
  zk::Reactor::TimerId timer_ = 0;  // on the reactor only
  std::optional<std::stop_callback<OnCancel>> on_cancel_;
};

// A call with an answer T: absl::Status, or an absl::StatusOr.
template <typename T>
class Call : public Pending {
 public:
  // `done` runs once, on the thread that settles the call.
  Call(std::shared_ptr<internal::ClientCore> core, const WaitOptions& wait, Done<T> done)
      : Pending(std::move(core), wait), done_(std::move(done)) {}

  // Returns false if the call was settled before: then `answer` is dropped.
  bool Settle(T answer) {
    if (!SettleOnce()) return false;
    Finish(std::move(answer));
    return true;
  }

 protected:
  // The answer of a call that is given up. Ends what the call began.
  virtual absl::Status GivenUp(bool cancelled) = 0;
  // Runs before `done`.
  virtual void OnSettled(const T& /*answer*/) {}

 private:
  void GiveUp(bool cancelled) final {
    if (SettleOnce()) Finish(GivenUp(cancelled));
  }
  void Finish(T answer) {
    OnSettled(answer);
    std::exchange(done_, nullptr)(std::move(answer));
  }

  Done<T> done_;  // belongs to the caller that settles
};

// A call whose answer, if it is given up, comes from a function: it is kept in the call itself,
// since most calls are answered.
template <typename T, typename Late>  // absl::Status(bool cancelled)
class SimpleCall final : public Call<T> {
 public:
  SimpleCall(std::shared_ptr<internal::ClientCore> core, const WaitOptions& wait, Done<T> done,
             Late late)
      : Call<T>(std::move(core), wait, std::move(done)), late_(std::move(late)) {}

 private:
  absl::Status GivenUp(bool cancelled) override { return late_(cancelled); }

  const Late late_;
};

template <typename T, typename Late>
std::shared_ptr<Call<T>> NewCall(std::shared_ptr<internal::ClientCore> core,
                                 const WaitOptions& wait, Done<T> done, Late late) {
  return std::make_shared<SimpleCall<T, Late>>(std::move(core), wait, std::move(done),
                                               std::move(late));
}

// The call; null if its `done` has run already; or why nothing was asked, and then `done` is as it
// was.
using Begun = absl::StatusOr<std::shared_ptr<Pending>>;

// A call that has not begun: the blocking, the callback and the awaitable form of a public function
// are made from it by Blocking, Async and Co.
template <typename T>
struct Start {
  // Null: of a lease that was moved from, for which `refusal` is the answer.
  std::shared_ptr<internal::ClientCore> core = nullptr;
  // Asks, on the caller's thread. It may lock: see MayBegin.
  absl::AnyInvocable<Begun(const WaitOptions& wait, Done<T>& done)&&> begin = nullptr;
  // Runs instead if the call cannot be waited for; its error goes first. May be null.
  absl::AnyInvocable<absl::Status()&&> unwaited = nullptr;
  absl::Status refusal = absl::OkStatus();
};

// OK, or why no call may begin: the process is a forked child; `wait` is invalid; it `blocks` on
// the client's own I/O thread. Every form asks this before it locks anything: in a forked child a
// mutex may have been copied while another thread held it.
absl::Status MayBegin(const internal::ClientCore& core, const WaitOptions& wait, bool blocks);

// Says that `what` ("list /q") was given up: Cancelled; Unavailable if the session that was asked
// is `cut_off` (Reach::CutOff); otherwise DeadlineExceeded. `trouble`: the last error, if there was
// one.
absl::Status NotAnswered(const std::optional<std::string>& cut_off, const std::string& what,
                         absl::Duration timeout, bool cancelled, const std::string& trouble = "");

// What is left until `deadline`, for the next of several calls that share the user's timeout.
WaitOptions Rest(const internal::ClientCore& core, base::BootTime deadline, std::stop_token cancel);

// The call cannot be waited for: does what is done all the same. Returns its error, or `why`.
template <typename T>
absl::Status Unwaited(Start<T>& start, absl::Status why) {
  if (start.unwaited == nullptr) return why;
  const absl::Status done = std::move(start.unwaited)();
  return done.ok() ? why : done;
}

template <typename T>
absl::Status Refusal(Start<T>& start, const WaitOptions& wait, bool blocks) {
  if (start.core == nullptr) return start.refusal;
  absl::Status may = MayBegin(*start.core, wait, blocks);
  if (may.ok() || !start.core->InHomeProcess()) return may;
  return Unwaited(start, std::move(may));
}

// Returns the answer. The calling thread runs the client's loop meanwhile, if it can and `drives`.
template <typename T>
T Blocking(Start<T> start, const WaitOptions& wait, bool drives = true) {
  if (absl::Status refusal = Refusal(start, wait, /*blocks=*/true); !refusal.ok()) return refusal;
  const auto answer = std::make_shared<base::OneShot<T>>();
  Done<T> done = [answer](T given) { answer->Set(std::move(given)); };
  internal::ClientCore::Drive drive(*start.core, drives);
  const auto call = std::move(start.begin)(wait, done);
  if (!call.ok()) return call.status();
  const auto never = base::BootTime::InfiniteFuture();
  if (auto given = drive.Await(*answer, *call == nullptr ? never : (*call)->deadline())) {
    return *std::move(given);
  }
  (*call)->TimeOut();
  // Another thread may be settling it just now: its answer counts.
  return *start.core->Await(*answer, never);
}

// `done` runs once, on any thread, perhaps inline. Returns null if it has run.
template <typename T>
std::shared_ptr<Pending> Begin(Start<T> start, const WaitOptions& wait,
                               std::type_identity_t<Done<T>> done) {
  absl::Status refusal = Refusal(start, wait, /*blocks=*/false);
  if (refusal.ok()) {
    auto call = std::move(start.begin)(wait, done);
    if (call.ok()) {
      if (*call != nullptr) (*call)->StartTimer();
      return *std::move(call);
    }
    refusal = call.status();
  }
  std::move(done)(std::move(refusal));
  return nullptr;
}

// `done` runs once: on the client's executor; inline in a forked child, which has no threads, for a
// lease that was moved from, which has no client, and where there is no thread to run it. On an
// executor it ends the process if it throws, whatever the executor catches.
template <typename T>
void Async(Start<T> start, const WaitOptions& wait, std::type_identity_t<Done<T>> done) {
  if (start.core != nullptr && start.core->InHomeProcess()) {
    absl::Status ready = start.core->PrepareThread(internal::ClientCore::ThreadFor::kAnswers);
    if (!ready.ok()) return std::move(done)(Unwaited(start, std::move(ready)));
    done = [executor = start.core->executor(), done = std::move(done)](T answer) mutable {
      executor->Execute([done = std::move(done), answer = std::move(answer)]() mutable noexcept {
        std::move(done)(std::move(answer));
      });
    };
  }
  (void)Begin(std::move(start), wait, std::move(done));
}

// As Async, once it is awaited.
template <typename T>
Awaitable<T> Co(Start<T> start, Duration timeout, std::stop_token cancel) {
  return {[start = std::move(start)](const WaitOptions& wait, Done<T> done) mutable {
            Async(std::move(start), wait, std::move(done));
          },
          {timeout, std::move(cancel)}};
}

}  // namespace zkrecipes::queue::call

#endif  // ZKRECIPES_LIB_QUEUE_CALL_CALL_H_
