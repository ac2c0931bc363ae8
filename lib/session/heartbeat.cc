// SPDX-License-Identifier: Apache-2.0

#include "lib/session/heartbeat.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "lib/base/random.h"

namespace zkrecipes::session {
namespace {

const char kNever[] = "/zkrecipes-never/beat";
constexpr int kBeatsPerTimeout = 10;
constexpr absl::Duration kUnprovenPeriod = absl::Milliseconds(130);  // of beats, if it is shorter
constexpr int kReadsPerTimeout = 5;
constexpr int kOverdueFraction = 4;  // of the timeout, without a committed answer

// Never in step with the leader's pings.
absl::Duration Period(absl::Duration longest, uint64_t random_bits) {
  const absl::Duration varied = longest * 2 / 5;
  return longest - varied + base::Jittered(varied, random_bits);
}

// Of these answers the quorum has agreed. (Others can be a server's own.)
bool Committed(const Heartbeat::Ticket& ticket, zk::Code code) {
  return code == zk::Code::kOk ? ticket.write : ticket.del && code == zk::Code::kNoNode;
}

// Not one that the client library may have given without asking.
bool FromServer(zk::Code code) { return code == zk::Code::kOk || code == zk::Code::kNoNode; }

}  // namespace

zk::Request CommittedBarrier() { return zk::Delete{kNever}; }

Heartbeat::Heartbeat(zk::Reactor* reactor, Owner* owner, const Options& options)
    : reactor_(reactor), owner_(owner), options_(options), clock_(options.margins) {}

Heartbeat::~Heartbeat() = default;

// ---- the session ---------------------------------------------------------------------------------

void Heartbeat::Up(base::BootTime began, absl::Duration timeout, bool new_session) {
  const base::BootTime now = reactor_->Now();
  if (!new_session) CheckLife();
  clock_.Connected(began, now, timeout, new_session);
  up_ = true;
  if (new_session || life_ == nullptr) NewLife();
  life_->SetConnected(true);
  if (new_session) {
    Prove();
  } else if (clock_.deadline().has_value()) {
    life_->Shorten(*clock_.deadline());
  }
  CheckLife();
  Busy() ? Beat() : ScheduleBeat();
}

void Heartbeat::Down() {
  up_ = false;
  clock_.Disconnected();
  life_->SetConnected(false);
}

void Heartbeat::Gone() {
  up_ = false;
  clock_.Disconnected();
  if (life_ != nullptr) life_->End();
  life_ = nullptr;
}

void Heartbeat::Stop() { stopped_ = true; }

void Heartbeat::SetWanted(bool wanted) {
  if (wanted == wanted_) return;
  const bool was_busy = Busy();
  const base::BootTime now = reactor_->Now();
  wanted_ = wanted;
  if (!wanted) wanted_until_ = now + timeout();
  if (life_ == nullptr) return;
  // A life without leases may be replaced: the next one shall not be lost for its sake.
  if (wanted && life_->deadline() < now + timeout() / kOverdueFraction) {
    clock_.Restart();
    NewLife();
  }
  if (!wanted) life_->GiveUpAt(base::BootTime::InfiniteFuture());
  CheckLife();
  if (wanted && !was_busy) ScheduleBeat();
}

// ---- what the answers prove ----------------------------------------------------------------------

Heartbeat::Ticket Heartbeat::Sent(const zk::Request& request) {
  const bool del = std::holds_alternative<zk::Delete>(request);
  const bool write = del || std::holds_alternative<zk::Create>(request) ||
                     std::holds_alternative<zk::SetData>(request);
  return {clock_.Sent(reactor_->Now()), write, del};
}

void Heartbeat::Answered(const Ticket& ticket, zk::Code code) {
  if (!up_ || !FromServer(code)) return;
  const base::BootTime now = reactor_->Now();
  const bool committed = Committed(ticket, code);
  CheckLife();
  clock_.Answered(ticket.request, now, committed);
  if (!committed) return;
  life_->Confirm(ticket.request.sent);
  if (clock_.deadline().has_value()) {
    Prove();
  } else if (wanted_) {
    life_->GiveUpAt(ticket.request.sent + timeout());
    CheckLife();
  }
  UrgentBeat();
}

void Heartbeat::Prove() {
  const base::BootTime now = reactor_->Now();
  const bool was_unproven = life_->At(now) == SessionLife::State::kUnproven;
  if (!life_->Prove(*clock_.deadline(), now + timeout() / kOverdueFraction, now)) return;
  if (!was_unproven) return;
  CheckLife();
  owner_->OnProven();
}

void Heartbeat::NewLife() {
  life_ = std::make_shared<SessionLife>(options_.lapses);
  life_->SetConnected(up_);
  if (wanted_) life_->GiveUpAt(reactor_->Now() + timeout());
}

// Announces the end of the life when it has come, once. What was granted in it stays lost; new
// grants need a new one.
void Heartbeat::CheckLife() {
  if (life_ == nullptr) return;
  if (life_->At(reactor_->Now()) == SessionLife::State::kOver) {
    clock_.Restart();
    NewLife();
    owner_->OnLapsed();
  }
  ArmLifeTimer();
}

void Heartbeat::ArmLifeTimer() {
  const base::BootTime end = life_->ends_at();
  if (life_timer_ != 0 && life_timer_at_ == end) return;
  if (life_timer_ != 0) reactor_->Cancel(std::exchange(life_timer_, 0));
  if (end == base::BootTime::InfiniteFuture()) return;
  life_timer_at_ = end;
  life_timer_ = reactor_->CallAt(end, [this, alive = std::weak_ptr<char>(alive_)] {
    if (alive.expired()) return;
    life_timer_ = 0;
    CheckLife();
  });
}

// ---- beats ---------------------------------------------------------------------------------------

bool Heartbeat::Busy() const { return wanted_ || reactor_->Now() < wanted_until_; }

void Heartbeat::Beat() {
  if (!up_ || beating_ || stopped_) return;
  beating_ = true;
  const zk::Request request = Busy() ? CommittedBarrier() : zk::Request(zk::Get{kNever});
  owner_->SendBeat(request, [this, alive = std::weak_ptr<char>(alive_)](const zk::Reply&) {
    if (alive.expired()) return;
    beating_ = false;
    UrgentBeat();
    ScheduleBeat();
  });
}

void Heartbeat::UrgentBeat() {
  if (wanted_ && clock_.NextWriteHelps(reactor_->Now())) Beat();
}

void Heartbeat::ScheduleBeat() {
  if (!up_ || beating_ || stopped_) return;
  if (beat_timer_ != 0) reactor_->Cancel(beat_timer_);
  absl::Duration longest = timeout() / (Busy() ? kBeatsPerTimeout : kReadsPerTimeout);
  if (wanted_ && !clock_.deadline().has_value()) longest = std::min(longest, kUnprovenPeriod);
  beat_timer_ = reactor_->CallAt(reactor_->Now() + Period(longest, reactor_->Random()),
                                 [this, alive = std::weak_ptr<char>(alive_)] {
                                   if (alive.expired()) return;
                                   beat_timer_ = 0;
                                   Beat();
                                 });
}

}  // namespace zkrecipes::session
