// SPDX-License-Identifier: Apache-2.0

#include "lib/session/session_ends.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace zkrecipes::session {
namespace {

// To restore a backup, most servers have to be stopped and started: that takes longer.
constexpr absl::Duration kAtOnce = absl::Seconds(1);

}  // namespace

void SessionEnds::Began(zk::SessionId id, base::BootTime now) {
  const bool follows = confirmed_ && now - asked_ < kAtOnce;
  if (!follows) line_ = id;
  next_began_ = std::min(next_began_, now);
}

// The leader that confirmed an end may have failed before it had ended the session. The next one
// gives it its timeout once more, from its own election on: before a session that is begun there.
bool SessionEnds::AreUnconfirmed(base::BootTime now) const {
  return unconfirmed_ > 0 && now - next_began_ <= may_last_;
}

void SessionEnds::NotConfirmed(base::BootTime now, absl::Duration timeout) {
  if (!AreUnconfirmed(now)) unconfirmed_ = 0;
  if (unconfirmed_ == 0) may_last_ = absl::ZeroDuration();
  // By the leader's clock, and up to a tick more, of which T has two or more.
  may_last_ = std::max(may_last_, 1.7 * timeout);
  ++unconfirmed_;
  next_began_ = base::BootTime::InfiniteFuture();
}

absl::Status SessionEnds::OfClose(base::BootTime now, absl::Duration timeout, size_t left,
                                  const absl::Status& trouble) const {
  if (AreUnconfirmed(now)) {  // as each release is told
    return absl::DeadlineExceededError(
        absl::StrCat("close: the deletion of ", unconfirmed_,
                     " node(s) was not confirmed before the session ended, with which they go"));
  }
  if (confirmed_) return absl::OkStatus();  // the session's end has deleted what it had
  if (left > 0) {
    return absl::DeadlineExceededError(
        absl::StrCat("close: the deletion of ", left,
                     " node(s) could not be confirmed; they stay until the session expires"));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "close: no node is known to be left, but no server has confirmed the session's end, which "
      "ends by itself after ",
      absl::FormatDuration(timeout),
      trouble.ok() ? "" : absl::StrCat(" (", trouble.message(), ")")));
}

}  // namespace zkrecipes::session
