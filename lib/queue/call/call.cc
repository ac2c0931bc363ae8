// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/call/call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/session/client/client_options.h"

namespace zkrecipes::queue::call {

Pending::Pending(std::shared_ptr<internal::ClientCore> core, const WaitOptions& wait)
    : core_(std::move(core)),
      timeout_(wait.timeout),
      began_(core_->Now()),
      deadline_(began_ + timeout_) {}

// The call may be settled at any moment. SettleOnce reads `timed_` after it has settled, and the
// task reads `settled_` after `timed_` was set: one of them sees the other, so no timer outlives
// the call. Without a session there is no reactor any more, and who was asked answers at once.
void Pending::StartTimer() {
  if (deadline_ == base::BootTime::InfiniteFuture()) return;
  timed_ = true;
  core_->Post([weak = weak_from_this()](session::Session* session) {
    const auto self = weak.lock();
    if (self == nullptr || session == nullptr || self->settled()) return;
    self->timer_ = self->core_->reactor()->CallAt(self->deadline_, [weak] {
      const auto late = weak.lock();
      if (late == nullptr) return;
      late->timer_ = 0;
      late->TimeOut();
    });
  });
}

void Pending::HeedCancel(const std::stop_token& cancel) {
  on_cancel_.emplace(cancel, OnCancel{weak_from_this()});
}

// The stop callback may be destroyed with the call, in here: nothing of it is used after the lock.
void Pending::OnCancel::operator()() const {
  if (const auto self = call.lock()) self->GiveUp(/*cancelled=*/true);
}

bool Pending::SettleOnce() {
  if (settled_.exchange(true)) return false;
  if (timed_) {
    core_->Post([self = shared_from_this()](session::Session* session) {
      if (session == nullptr || self->timer_ == 0) return;
      self->core_->reactor()->Cancel(std::exchange(self->timer_, 0));
    });
  }
  return true;
}

absl::Status MayBegin(const internal::ClientCore& core, const WaitOptions& wait, bool blocks) {
  if (!core.InHomeProcess()) return core.CheckMayBlock();
  if (absl::Status wrong = session::client::CheckWaitOptions(wait); !wrong.ok()) return wrong;
  return blocks ? core.CheckMayBlock() : absl::OkStatus();
}

WaitOptions Rest(const internal::ClientCore& core, base::BootTime deadline,
                 std::stop_token cancel) {
  return {std::max(absl::ZeroDuration(), deadline - core.Now()), std::move(cancel)};
}

absl::Status NotAnswered(const std::optional<std::string>& cut_off, const std::string& what,
                         absl::Duration timeout, bool cancelled, const std::string& trouble) {
  if (cancelled) return absl::CancelledError(absl::StrCat(what, ": cancelled"));
  const std::string late =
      absl::StrCat(what, ": not answered within ", absl::FormatDuration(timeout));
  // The ensemble was not reached, so it has not been asked at all.
  if (cut_off) {
    return absl::UnavailableError(absl::StrCat(late, ": ", *cut_off));
  }
  const std::string why = trouble.empty() ? "" : absl::StrCat(" (", trouble, ")");
  return absl::DeadlineExceededError(absl::StrCat(late, why));
}

}  // namespace zkrecipes::queue::call
