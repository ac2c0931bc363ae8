// SPDX-License-Identifier: Apache-2.0
//
// The three forms of Client::Close.

#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/call/call.h"
#include "lib/session/client/client_core.h"
#include "zkrecipes/awaitable.h"
#include "zkrecipes/client.h"

namespace zkrecipes {
namespace {

using queue::call::Done;
using queue::call::Start;

// The close goes on whatever becomes of the wait for it, also when the Client is gone: the sessions
// keep the core until they have ended. A second close waits for the same end.
Start<absl::Status> Closing(const std::shared_ptr<internal::ClientCore>& core) {
  const auto begin = [core](const WaitOptions& wait,
                            Done<absl::Status>& done) -> queue::call::Begun {
    const auto late = [timeout = wait.timeout](bool cancelled) {
      if (cancelled) return absl::CancelledError("close: cancelled; it goes on in the background");
      return absl::DeadlineExceededError(absl::StrCat("close: not confirmed within ",
                                                      absl::FormatDuration(timeout),
                                                      "; it goes on in the background"));
    };
    const auto call = queue::call::NewCall<absl::Status>(core, wait, std::move(done), late);
    // First: a call that was cancelled beforehand closes the client, too.
    core->Close([call](absl::Status status) { call->Settle(std::move(status)); });
    call->HeedCancel(wait.cancel);
    return call;
  };
  return {core, begin};
}

}  // namespace

absl::Status Client::Close(const WaitOptions& wait) {
  return queue::call::Blocking(Closing(core_), wait);
}

void Client::CloseAsync(WaitOptions wait, absl::AnyInvocable<void(absl::Status) &&> done) {
  queue::call::Async(Closing(core_), wait, std::move(done));
}

StatusAwaitable Client::CoClose(Duration timeout, std::stop_token cancel) {
  return queue::call::Co(Closing(core_), timeout, std::move(cancel));
}

}  // namespace zkrecipes
