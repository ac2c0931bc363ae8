// SPDX-License-Identifier: Apache-2.0

#include "lib/session/heartbeat.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

#include "lib/base/guid.h"
#include "lib/base/random.h"

namespace zkrecipes::session {
namespace {

constexpr int kBeatsPerTimeout = 10;
constexpr absl::Duration kUnprovenPeriod = absl::Milliseconds(130);  // of beats, if it is shorter
constexpr int kReadsPerTimeout = 5;
constexpr int kOverdueFraction = 4;  // of the timeout, without a committed answer

// Random, so that beats never fall into step with the leader's pings.
absl::Duration Period(absl::Duration longest, uint64_t random_bits) {
  const absl::Duration varied = longest * 2 / 5;
  return longest - varied + base::Jittered(varied, random_bits);
}

// Answers that the quorum has committed. (A server may give other answers on its own.)
bool Committed(const Heartbeat::Ticket& ticket, zk::Code code) {
  return code == zk::Code::kOk ? ticket.write : ticket.del && code == zk::Code::kNoNode;
}

// Any other code may come from the client library, without the server.
bool FromServer(zk::Code code) { return code == zk::Code::kOk || code == zk::Code::kNoNode; }

}  // namespace

Heartbeat::Heartbeat(zk::Reactor* reactor, Owner* owner, const Options& options)
    : reactor_(reactor), owner_(owner), options_(options), bound_(options.margins) {
  NameBeat();
}

Heartbeat::~Heartbeat() = default;

// ---- the session ---------------------------------------------------------------------------------

void Heartbeat::OnConnected(base::BootTime began, absl::Duration timeout, bool new_session) {
  const base::BootTime now = reactor_->Now();
  new_session ? NameBeat() : CheckValidity();
  bound_.Connected(began, now, timeout, new_session);
  connected_ = true;
  if (new_session || validity_ == nullptr) NewValidities();
  for (SessionValidity* each : both()) each->SetConnected(true);
  if (new_session) {
    Prove();
  } else if (bound_.deadline().has_value()) {
    // This server may have granted a shorter timeout.
    for (SessionValidity* each : both()) each->Shorten(*bound_.deadline());
  }
  CheckValidity();
  Busy() ? Beat() : ScheduleBeat();
}

void Heartbeat::OnDisconnected() {
  connected_ = false;
  bound_.Disconnected();
  for (SessionValidity* each : both()) each->SetConnected(false);
}

void Heartbeat::OnExpired() {
  connected_ = false;
  bound_.Disconnected();
  if (validity_ == nullptr) return;
  for (SessionValidity* each : both()) each->Expire();
  validity_ = enduring_ = nullptr;
}

void Heartbeat::Stop() { stopped_ = true; }

void Heartbeat::SetWanted(bool wanted) {
  if (wanted == wanted_) return;
  const bool was_busy = Busy();
  const base::BootTime now = reactor_->Now();
  wanted_ = wanted;
  if (!wanted) wanted_until_ = now + timeout();
  if (validity_ == nullptr) return;
  // No lease rests on the current validity: a new one spares the next lease the early end of this
  // one.
  if (wanted && validity_->DeadlineAt(now) < now + timeout() / kOverdueFraction) {
    bound_.Restart();
    NewValidities();
  }
  if (!wanted) validity_->GiveUpAt(base::BootTime::InfiniteFuture());
  CheckValidity();
  if (wanted && !was_busy) ScheduleBeat();
}

// ---- what the answers prove ----------------------------------------------------------------------

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
  const bool committed = Committed(ticket, code);
  CheckValidity();  // first: an answer that comes too late must not revive what has lapsed
  bound_.Answered(ticket.request, now, committed);
  if (!committed) return;
  for (SessionValidity* each : both()) each->Confirm(ticket.request.sent);
  if (bound_.deadline().has_value()) {
    Prove();
  } else if (wanted_) {
    // One session timeout after the last sign of life.
    validity_->GiveUpAt(ticket.request.sent + timeout());
    CheckValidity();
  }
  UrgentBeat();
}

void Heartbeat::Prove() {
  const base::BootTime now = reactor_->Now();
  const bool was_unproven = validity_->At(now) == SessionValidity::State::kUnproven;
  bool in_time = true;
  for (SessionValidity* each : both()) {
    in_time &= each->Prove(*bound_.deadline(), now + timeout() / kOverdueFraction, now);
  }
  if (!in_time) return;
  if (!was_unproven) return;
  CheckValidity();  // the end has moved from GiveUpAt to the deadline: move its timer as well
  owner_->OnProven();
}

// From the kernel and not from the reactor: it must not be guessable, and decides nothing.
void Heartbeat::NameBeat() {
  beat_path_ =
      absl::StrCat(options_.namespace_root, "/zkrecipes-missing-", base::NewGuid(), "/beat");
}

zk::Request Heartbeat::CommittedBarrier() const { return zk::Delete{beat_path_}; }

void Heartbeat::NewValidity() {
  validity_ = std::make_shared<SessionValidity>(/*lapses=*/true);
  validity_->SetConnected(connected_);
  if (wanted_) validity_->GiveUpAt(reactor_->Now() + timeout());
}

void Heartbeat::NewValidities() {
  NewValidity();
  enduring_ = std::make_shared<SessionValidity>(/*lapses=*/false);
  enduring_->SetConnected(connected_);
}

// Announces the end of the validity when its time has come, once. What was granted in it stays
// lost; new grants need a new one. Called before every change that could move the end: a process
// that was stopped over a deadline must not move it before it has announced it.
void Heartbeat::CheckValidity() {
  if (validity_ == nullptr) return;
  if (validity_->At(reactor_->Now()) == SessionValidity::State::kLost) {
    bound_.Restart();
    NewValidity();
    owner_->OnLapsed();
  }
  ArmValidityTimer();
}

void Heartbeat::ArmValidityTimer() {
  const base::BootTime end = validity_->ends_at();
  if (validity_timer_ != 0 && validity_timer_at_ == end) return;
  if (validity_timer_ != 0) reactor_->Cancel(std::exchange(validity_timer_, 0));
  if (end == base::BootTime::InfiniteFuture()) return;
  validity_timer_at_ = end;
  validity_timer_ = reactor_->CallAt(end, [this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    validity_timer_ = 0;
    CheckValidity();
  });
}

// ---- beats ---------------------------------------------------------------------------------------

bool Heartbeat::Busy() const { return wanted_ || reactor_->Now() < wanted_until_; }

void Heartbeat::Beat() {
  if (!connected_ || beating_ || stopped_) return;
  beating_ = true;
  const zk::Request request = Busy() ? CommittedBarrier() : zk::Get{beat_path_};
  owner_->SendBeat(request, [this, alive = std::weak_ptr<char>(alive_)](const zk::Reply&) {
    if (alive.expired()) return;
    beating_ = false;
    UrgentBeat();
    ScheduleBeat();
  });
}

void Heartbeat::UrgentBeat() {
  if (wanted_ && bound_.NextWriteHelps(reactor_->Now())) Beat();
}

void Heartbeat::ScheduleBeat() {
  if (!connected_ || beating_ || stopped_) return;
  if (beat_timer_ != 0) reactor_->Cancel(beat_timer_);
  absl::Duration longest = timeout() / (Busy() ? kBeatsPerTimeout : kReadsPerTimeout);
  if (wanted_ && !bound_.deadline().has_value()) longest = std::min(longest, kUnprovenPeriod);
  beat_timer_ = reactor_->CallAt(reactor_->Now() + Period(longest, reactor_->Random()),
                                 [this, alive = std::weak_ptr<char>(alive_)] {
                                   if (alive.expired()) return;
                                   beat_timer_ = 0;
                                   Beat();
                                 });
}

}  // namespace zkrecipes::session
