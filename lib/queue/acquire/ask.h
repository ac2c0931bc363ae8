// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_ASK_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_ASK_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "lib/base/one_shot.h"
#include "lib/base/random.h"
#include "lib/session/client/client_core.h"
#include "lib/session/retry_pauses.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::acquire {

// OK, or what is wrong with a blocking call about `path`.
absl::Status CheckQuestion(const internal::ClientCore& core, const std::string& path,
                           const WaitOptions& wait);

// Cancelled; Unavailable without a connection (ClientCore::CutOff); otherwise DeadlineExceeded.
absl::Status NotAnswered(const internal::ClientCore& core, const std::string& what,
                         const WaitOptions& wait, const std::string& trouble);

// Asks the ensemble and blocks for the answer; asks again while that is Unavailable (lost with a
// connection), so asking twice must do no more than asking once. `ask(done)` makes the question: a
// function that runs on the reactor, with the session, and calls `done` once. `what` is for
// messages ("list /q").
template <typename T>
absl::StatusOr<T> AskUntilAnswered(internal::ClientCore& core, const std::string& what,
                                   const WaitOptions& wait,
                                   absl::FunctionRef<absl::AnyInvocable<void(session::Session&) &&>(
                                       absl::AnyInvocable<void(absl::StatusOr<T>) &&> done)>
                                       ask) {
  const base::BootTime deadline = core.Now() + wait.timeout;
  std::string trouble;
  do {
    auto shot = std::make_shared<base::OneShot<absl::StatusOr<T>>>();
    core.Post([shot, question = ask([shot](absl::StatusOr<T> answer) {
                       shot->Set(std::move(answer));
                     })](session::Session* session) mutable {
      if (session != nullptr) return std::move(question)(*session);
      shot->Set(absl::FailedPreconditionError("the client is closed"));
    });
    std::optional<absl::StatusOr<T>> answer = core.Await(*shot, deadline, wait.cancel);
    if (!answer.has_value()) break;
    if (!absl::IsUnavailable(answer->status())) return *std::move(answer);
    trouble = std::string(answer->status().message());
  } while (core.Pause(base::Jittered(session::kRetryPause, core.reactor()->Random()), deadline,
                      wait.cancel));
  return NotAnswered(core, what, wait, trouble);
}

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_ASK_H_
