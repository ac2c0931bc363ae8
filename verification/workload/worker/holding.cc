// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"

#include "verification/workload/worker/worker.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;

std::string ToText(Lease::State state) {
  return absl::StrFormat("%s", absl::FormatStreamed(state));
}

// The clock is read first, so this is never later than what the lease says.
int64_t UntilOf(const Lease& lease) {
  const int64_t now = Now();
  const absl::Duration remaining = lease.remaining();
  return remaining > absl::ZeroDuration() ? now + absl::ToInt64Nanoseconds(remaining) : 0;
}

Event GrantOf(const Client& client, Event event, const Lease& lease, int64_t at) {
  event.at = at;
  event.what = What::kGrant;
  event.token = lease.token().value();
  event.node = lease.node();
  event.until = UntilOf(lease);
  event.state = ToText(lease.state());
  event.detail.clear();
  const int64_t session = client.session_id();
  const Lease::State after = lease.state();
  const bool alive = after != Lease::State::kLost && after != Lease::State::kReleased;
  if (alive) event.session = session;  // it was still its own when it was read
  return event;
}

}  // namespace

Holding::Holding(WorkerContext& context, const Event& attempt, Lease lease, int64_t granted_at)
    : context_(context),
      lease_(std::move(lease)),
      lost_(lease_.ended()),
      grant_(GrantOf(*context.client, attempt, lease_, granted_at)) {
  context_.recorder.Record(grant_);
  on_lost_.emplace(lost_, [this] {
    base::MutexLock lock(mutex_);
    if (!given_up_) TellIfLost();
  });
}

Event Holding::NewEvent(What what, int64_t at, const std::string& detail) const {
  Event event = grant_;
  event.at = at;
  event.what = what;
  event.until = 0;
  event.state.clear();
  event.detail = detail;
  return event;
}

// An upgrade's release is heard of by ended(), too, and is not this.
void Holding::TellIfLost() {
  if (told_ || lease_.state() != Lease::State::kLost) return;
  told_ = true;
  context_.recorder.Record(NewEvent(What::kLost));
}

Lease::State Holding::Look() { return Believe(UntilOf(lease_), ""); }

Lease::State Holding::Believe(int64_t until, const std::string& detail) {
  const Lease::State state = lease_.state();
  Event belief = NewEvent(What::kBelief, 0, detail);
  belief.until = until;
  belief.state = ToText(state);
  context_.recorder.Record(std::move(belief));
  return state;
}

void Holding::Verify(const WaitOptions& wait) {
  const int64_t before = Now();
  const absl::Status verified = lease_.Verify(wait);
  Believe(verified.ok() ? before : 0, "verify: " + verified.ToString());
}

std::optional<bool> Holding::Write() {
  std::optional<Event> write = context_.resource.Write(NewEvent(What::kWrite));
  if (!write.has_value()) return std::nullopt;
  context_.recorder.Record(*write);
  return write->accepted;
}

void Holding::GiveUp(int64_t at, const std::string& detail) {
  base::MutexLock lock(mutex_);
  if (std::exchange(given_up_, true)) return;
  TellIfLost();  // ended() may be about to say so
  context_.recorder.Record(NewEvent(What::kRelease, at, detail));
}

void Holding::Release() {
  GiveUp(Now(), "");
  const absl::Status released = std::move(lease_).Release({context_.options.session_timeout});
  context_.recorder.Record(NewEvent(What::kReleased, 0, released.ToString()));
}

void Holding::Drop() {
  GiveUp(Now(), "drop");
  const Lease dropped = std::move(lease_);
}

void Holding::Replaced(int64_t at) {
  GiveUp(at, "upgrade");
  context_.recorder.Record(
      NewEvent(What::kReleased, 0, "by the upgrade or downgrade, in the background"));
}

}  // namespace zkrecipes::history
