// SPDX-License-Identifier: Apache-2.0

#include "lib/session/heartbeat.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"

#include "lib/base/random.h"

namespace zkrecipes::session {
namespace {

constexpr int kReportsPerTimeout = 10;

// Any other code may come from the client library, without the server.
bool FromServer(zk::Code code) { return code == zk::Code::kOk || code == zk::Code::kNoNode; }

}  // namespace

Heartbeat::Heartbeat(zk::Reactor* reactor, Owner* owner, const Options& options)
    : reactor_(reactor),
      owner_(owner),
      options_(options),
      bound_(options.margins),
      pace_(options.pace) {
  NameBeat();
}

Heartbeat::~Heartbeat() = default;

// ---- the session --------------------------------------------------------------------------------

void Heartbeat::OnConnected(base::BootTime began, absl::Duration timeout, bool new_session) {
  const base::BootTime now = reactor_->Now();
  new_session ? NameBeat() : CheckValidity(now);
  // From before the connection was begun: the server counts the session's time from its own end of
  // the handshake, which is later.
  bound_.Connected(began, now, timeout, new_session);
  can_prove_ = options_.margins.CanProve(bound_.timeout());
  least_left_ = machine::ExpiryMargins::LeastLeft(bound_.timeout());
  pace_.OnConnected(bound_.timeout(), bound_.lifetime(), bound_.longest_gap(), can_prove_);
  connected_ = true;
  if (new_session || validity_ == nullptr) {
    validity_ = std::make_shared<SessionValidity>();
    if (wanted()) validity_->GiveUpAt(now + bound_.timeout());
  }
  validity_->SetConnected(true);
  // The handshake of a new session is itself a committed write.
  if (new_session) {
    can_prove_ ? Prove(now) : Confirm(now, began);
  } else if (bound_.deadline().has_value()) {
    // This server may have granted a shorter timeout.
    validity_->Shorten(*bound_.deadline());
  }
  CheckValidity(now);
  pace_.KeepsProven(now) ? SendRequest(/*beat=*/true) : ScheduleBeat();
}

void Heartbeat::OnDisconnected() {
  // Requests on their way prove nothing any more, even if their answers should still come.
  connected_ = false;
  bound_.Disconnected();
  validity_->SetConnected(false);
}

void Heartbeat::OnExpired() {
  connected_ = false;
  bound_.Disconnected();
  if (validity_ == nullptr) return;
  validity_->Expire(reactor_->Now());
  validity_ = nullptr;
}

void Heartbeat::Stop() { stopped_ = true; }

void Heartbeat::SetNeed(const machine::Need& need) {
  const base::BootTime now = reactor_->Now();
  const bool was_wanted = wanted();
  // Before the period is begun anew, which gives up after a timeout only if a proof is wanted.
  bool sooner = pace_.SetNeed(need, now);
  if (wanted() != was_wanted && validity_ != nullptr) {
    // No lease rests on the current period: a new one spares the next lease the early end of this
    // one, if there is less of it than a healthy session ever has.
    const bool anew = wanted() && validity_->ProvenUntil(now) < now + pace_.TooLittle();
    if (anew) BeginPeriod();
    if (!wanted()) validity_->GiveUpAt(base::BootTime::InfiniteFuture());
    CheckValidity(now);
    sooner |= anew;
  }
  if (sooner) ScheduleBeat();
}

// ---- what the answers prove ---------------------------------------------------------------------

Heartbeat::Ticket Heartbeat::Sent(const zk::Request& request) {
  const bool del = std::holds_alternative<zk::Delete>(request);
  const bool write = del || std::holds_alternative<zk::Create>(request) ||
                     std::holds_alternative<zk::SetData>(request) ||
                     std::holds_alternative<zk::Multi>(request);
  return {bound_.Sent(reactor_->Now()), write, del, zk::PathOf(request) == beat_path_};
}

void Heartbeat::Answered(const Ticket& ticket, zk::Code code) {
  // The node is there, or its namespace is closed to this client: the next beat tries another.
  if (ticket.of_beat && code != zk::Code::kNoNode && !zk::OutcomeUnknown(code)) {
    NameBeat();
  }
  if (!connected_ || !FromServer(code)) return;
  const base::BootTime now = reactor_->Now();
  const bool committed = ticket.Committed(code);
  CheckValidity(now);  // first: an answer that comes too late must not revive what has lapsed
  const std::optional<base::BootTime> before = bound_.deadline();
  // Any answer is a touch; only a committed one can make the touches before it a proof.
  bound_.Answered(ticket.request, now, committed);
  const std::optional<base::BootTime> after = bound_.deadline();
  if (pace_.need().lease && before.has_value() && after.has_value() && *before < *after) {
    least_seen_ = std::min(least_seen_.value_or(absl::InfiniteDuration()), *before - now);
  }
  Report(now, now - ticket.request.sent);
  if (!committed) return;
  if (ProvesEnough(now)) {
    Prove(now, ticket.request.sent);
  } else {
    Confirm(now, ticket.request.sent);
  }
  UrgentBeat(now);
}

// The first proof of a period must leave the time for another one: otherwise the first lease of the
// period would be lost as soon as it is granted, and so would the next contender's.
bool Heartbeat::ProvesEnough(base::BootTime now) {
  // Where no other proof can follow, what needs none must not end with this one.
  if (!bound_.deadline().has_value() || !can_prove_) return false;
  if (*bound_.deadline() - now >= least_left_) return true;
  return validity_->ProvenUntil(now) > now;
}

// A write that proves nothing yet.
void Heartbeat::Confirm(base::BootTime now, base::BootTime sent) {
  validity_->Confirm(sent);
  if (!wanted()) return;
  // A lease that is granted unproven must not be believed for ever: without a proof it ends one
  // session timeout after the last sign of life.
  validity_->GiveUpAt(sent + timeout());
  CheckValidity(now);
}

void Heartbeat::Report(base::BootTime now, absl::Duration round_trip) {
  if (now < next_report_) return;
  next_report_ = now + timeout() / kReportsPerTimeout;
  owner_->OnAnswered(round_trip, std::exchange(least_seen_, std::nullopt));
}

void Heartbeat::Prove(base::BootTime now, base::BootTime confirmed) {
  const base::BootTime deadline = *bound_.deadline();
  const base::BootTime overdue = pace_.OverdueAt(deadline, now);
  using Proved = SessionValidity::Proved;
  if (validity_->Prove(deadline, overdue, now, confirmed) != Proved::kFirst) return;
  CheckValidity(now);  // the end has moved from GiveUpAt to the deadline: move its timer as well
  owner_->OnProven();
}

// From the kernel and not from the reactor: it must not be guessable, and decides nothing.
void Heartbeat::NameBeat() {
  beat_path_ =
      absl::StrCat(options_.namespace_root, "/zkrecipes-missing-", base::NewGuid(), "/beat");
}

zk::Request Heartbeat::CommittedBarrier() const { return zk::Delete{beat_path_}; }

// What was proven before must not count in the new period, so the bound starts anew, too.
void Heartbeat::BeginPeriod() {
  bound_.Restart();
  validity_->BeginPeriod();
  if (wanted()) validity_->GiveUpAt(reactor_->Now() + timeout());
}

// Announces the end of the period when its time has come, once. What was granted in it stays lost;
// new grants need a new one. Called before every change that could move the end: a process
// that was stopped over a deadline must not move it before it has announced it.
void Heartbeat::CheckValidity(base::BootTime now) {
  if (validity_ == nullptr) return;
  base::BootTime end = validity_->EndsAt(now);
  if (end == base::BootTime()) {
    BeginPeriod();
    ScheduleBeat();
    owner_->OnLapsed();
    end = validity_->EndsAt(now);
  }
  SetValidityTimer(end);
}

void Heartbeat::SetValidityTimer(base::BootTime end) {
  if (validity_timer_ != 0 && validity_timer_at_ == end) return;
  if (validity_timer_ != 0) reactor_->Cancel(std::exchange(validity_timer_, 0));
  if (end == base::BootTime::InfiniteFuture()) return;
  validity_timer_at_ = end;
  validity_timer_ = reactor_->CallAt(end, [this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    validity_timer_ = 0;
    CheckValidity(reactor_->Now());
  });
}

// ---- beats --------------------------------------------------------------------------------------

void Heartbeat::SendRequest(bool beat) {
  if (!connected_ || on_its_way_ || stopped_) return;
  on_its_way_ = true;
  const base::BootTime now = reactor_->Now();
  pace_.OnSent(beat, now, reactor_->Random());
  auto done = [this, beat, alive = std::weak_ptr<char>(alive_)](const zk::Reply& reply) {
    if (alive.expired()) return;
    on_its_way_ = false;
    const base::BootTime answered = reactor_->Now();
    const bool refused = !FromServer(reply.code);
    if (beat) pace_.OnBeatAnswered(answered, refused);
    // A server that refuses one is not asked again at once.
    if (!refused) UrgentBeat(answered);
    ScheduleBeat();
  };
  const zk::Request request = beat ? CommittedBarrier() : zk::Get{beat_path_};
  beat || pace_.KeepsProven(now) ? owner_->SendBeat(request, std::move(done))
                                 : owner_->SendIdleRead(request, std::move(done));
}

// The second beat of a proof follows the first at once.
void Heartbeat::UrgentBeat(base::BootTime now) {
  if (pace_.KeepsProven(now) && bound_.NextWriteHelps(now, pace_.Reserve())) {
    SendRequest(/*beat=*/true);
  }
}

void Heartbeat::SendWhatIsDue() {
  const base::BootTime now = reactor_->Now();
  const machine::BeatPace::Planned next = Plan(now);
  // Since the timer was set something may have been proven, or be needed less.
  if (next.at > now) return ScheduleBeat();
  SendRequest(next.beat);
}

void Heartbeat::ScheduleBeat() {
  if (!connected_ || on_its_way_ || stopped_) return;
  const base::BootTime now = reactor_->Now();
  const base::BootTime at = std::max(Plan(now).at, now);
  // One that runs too soon plans anew, which is cheaper than a timer for each grant and release.
  if (beat_timer_ != 0 && beat_timer_at_ <= at) return;
  if (beat_timer_ != 0) reactor_->Cancel(beat_timer_);
  beat_timer_at_ = at;
  beat_timer_ = reactor_->CallAt(at, [this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    beat_timer_ = 0;
    SendWhatIsDue();
  });
}

}  // namespace zkrecipes::session
