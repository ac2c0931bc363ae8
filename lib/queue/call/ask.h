// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_CALL_ASK_H_
#define ZKRECIPES_LIB_QUEUE_CALL_ASK_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/base/random.h"
#include "lib/queue/call/call.h"
#include "lib/session/client/client_core.h"
#include "lib/session/retry_pauses.h"
#include "lib/session/session.h"
#include "zkrecipes/wait_options.h"

namespace zkrecipes::queue::call {

// A write that only a quorum can have answered.
struct Barrier {
  zk::Code code = zk::Code::kConnectionLoss;
  bool committed() const { return code == zk::Code::kNoNode; }
};

// Sends a barrier. The answers to requests that are sent behind it come from a server that has
// applied it: they are no older than this call, however far the server lags; and nothing that this
// session sent before can happen after it. Ask the result once one of them is answered.
std::shared_ptr<const Barrier> SendBarrier(session::Session& session);

// Reads a node behind a barrier, both in one flight. nullopt: not known. `done` runs once, on the
// reactor.
void ReadBehindBarrier(session::Session& session, const std::string& node,
                       absl::AnyInvocable<void(const std::optional<zk::Reply>&) &&> done);

// ToStatus of what the ensemble answers to an Ask; Unavailable if it may answer otherwise when it
// is asked again: it was too busy, say, or had just ended the session.
absl::Status AskedStatus(zk::Code code, absl::string_view operation, absl::string_view path);

template <typename T>
using Ask = std::function<void(session::Session& session, Done<absl::StatusOr<T>> done)>;

// Asks the ensemble and blocks for the answer; asks again while that is Unavailable (lost with a
// connection), so asking twice must do no more than asking once. `ask` runs on the reactor for each
// try, and calls `done` once.
template <typename T>
absl::StatusOr<T> AskUntilAnswered(internal::ClientCore& core, const std::string& what,
                                   const WaitOptions& wait, const Ask<T>& ask) {
  using Answer = absl::StatusOr<T>;
  const base::BootTime deadline = core.Now() + wait.timeout;
  std::string trouble;
  // Each try is settled when Blocking returns, so none calls this later.
  const auto late = [&](bool cancelled) {
    return NotAnswered(core.reach()->CutOff(core.Now()), what, wait.timeout, cancelled, trouble);
  };
  const auto begin = [&](const WaitOptions& left, Done<Answer>& done) -> Begun {
    const auto call =
        NewCall<Answer>(core.shared_from_this(), left, std::move(done), std::ref(late));
    call->HeedCancel(left.cancel);
    core.Post([call, ask](session::Session* session) {
      if (session == nullptr) {
        call->Settle(absl::FailedPreconditionError("the client is closed"));
      } else if (!session->failed().ok()) {  // asking again would not help
        call->Settle(session->failed());
      } else {
        ask(*session, [call](Answer answer) { call->Settle(std::move(answer)); });
      }
    });
    return call;
  };
  WaitOptions left = wait;
  for (;;) {
    Answer answer = Blocking<Answer>({core.shared_from_this(), begin}, left);
    if (!absl::IsUnavailable(answer.status())) return answer;
    trouble = std::string(answer.status().message());
    const auto pause = base::Jittered(session::kRetryPause, core.reactor()->Random());
    if (!core.Pause(pause, deadline, wait.cancel)) return late(wait.cancel.stop_requested());
    left = Rest(core, deadline, wait.cancel);
  }
}

}  // namespace zkrecipes::queue::call

#endif  // ZKRECIPES_LIB_QUEUE_CALL_ASK_H_
