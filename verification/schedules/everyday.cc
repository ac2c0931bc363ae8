// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/everyday.h"

#include <algorithm>
#include <utility>

namespace zkrecipes::schedules {

using enum MoveKind;

namespace {

// In session timeouts. A held lease has 0.4 left (docs/lease.md, the steady pace). Of that a client
// needs a pause of up to 0.1 until it is back, and for each server that it tries in vain another
// pause and an attempt: lib/zk/seam/connect_pace.h.
constexpr double kLongestStall = 0.3;
constexpr double kLongestPause = 0.1;
constexpr double kRefused = kLongestPause;
constexpr double kDropped = kLongestPause + 1.0 / 20;
constexpr double kNotAnswered = kLongestPause + 1.0 / 8;
// Between two faults; and before and after the grant of a lease that counts: touches of the session
// are then old enough to prove it, and it gains its reserve.
constexpr double kCalm = 0.5;

absl::Duration TimeOf(const Move& move) { return absl::Milliseconds(move.which); }

}  // namespace

Everyday::Everyday(testing::memory::Simulation& simulation, Hosts hosts,
                   absl::Duration session_timeout)
    : simulation_(simulation),
      hosts_(std::move(hosts)),
      session_timeout_(session_timeout),
      cannot_reach_(hosts_.size()),
      calm_since_(simulation.now()) {}

absl::Duration Everyday::longest_stall() const {
  double most = 0;
  for (size_t i = 0; i < hosts_.size(); ++i) most = std::max(most, TriesInVain(i));
  return session_timeout_ * std::max(kLongestStall - most, 0.0);
}

double Everyday::TriesInVain(size_t process) const {
  double takes = 0;
  for (int i = 0; i < model().servers(); ++i) {
    if (cannot_reach_[process][i] || IsUnwell(i, kDropPackets)) {
      takes += kDropped;
    } else if (IsUnwell(i, kStandStill) || IsUnwell(i, kLinkStalls)) {
      takes += kNotAnswered;
    } else if (IsUnwell(i, kCrash) || IsUnwell(i, kMoveAway)) {
      takes += kRefused;
    }
  }
  return takes;
}

// ---- the rule -----------------------------------------------------------------------------------

bool Everyday::MayBegin(const Move& move) const {
  if (stall_.has_value() || now() < calm_since_ + session_timeout_ * kCalm) return false;
  // Nothing puts the end of such a fault off: its server would have given up by then.
  if (unwell_.has_value() && unwell_->move.kind == kLinkStalls && !GivesUp(unwell_->move)) {
    return false;
  }
  if (move.kind == kBreakOne) return true;
  if (move.kind == kCannotReach) {
    const int server = static_cast<int>(move.which);
    return server >= model().servers() ||
           (Reaches(move.who, server) && !IsKeptBy(move.who, server));
  }
  if (IsStall(move) && !MayStall(move)) return false;
  if (move.kind == kAllStandStill || move.kind == kStepDown) return true;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    if (!Reaches(i, ServerOf(move))) return false;
    if (move.kind == kLinkStalls && GivesUp(move) && !OutlivesLinkStall(i)) return false;
  }
  return !unwell_.has_value();
}

// A follower whose link to its leader has stalled gives up when it has heard nothing for so long.
bool Everyday::GivesUp(const Move& move) const {
  return TimeOf(move) >= model().options().tick * model().options().sync_limit;
}

// Sessions on a follower are not touched from its last ping until it gives up; then they have to
// come to another server in time.
bool Everyday::OutlivesLinkStall(size_t process) const {
  const absl::Duration untouched =
      model().options().tick / 2 + model().options().tick * model().options().sync_limit;
  return untouched + session_timeout_ * (kLongestPause + TriesInVain(process)) < session_timeout_;
}

// Whether the process can go on with a server that is well, `but` not counted.
bool Everyday::Reaches(size_t process, int but) const {
  for (int i = 0; i < model().servers(); ++i) {
    const bool unwell = unwell_.has_value() && ServerOf(unwell_->move) == i;
    if (i != but && !unwell && !cannot_reach_[process][i]) return true;
  }
  return false;
}

// Whether the process is still connected to that server while its link has stalled. The session
// is not touched meanwhile, so a second silence, of the process's own way, may outlast it.
bool Everyday::IsKeptBy(size_t process, int server) const {
  if (!IsUnwell(server, kLinkStalls)) return false;
  bool connected = false;
  model().ForEachConnection([&](testing::memory::ConnectionId id) {
    connected |= model().ServerOf(id) == server && hosts_[process]->Owns(id);
  });
  return connected;
}

// Without its leader no server answers a write.
bool Everyday::IsStall(const Move& move) const {
  if (move.kind == kAllStandStill || move.kind == kStepDown) return true;
  return move.kind != kDropPackets && ServerOf(move) == model().leader();
}

bool Everyday::MayStall(const Move& move) const {
  if (move.kind == kLinkStalls) return false;  // a leader has none
  const bool elects = move.kind != kAllStandStill && move.kind != kStandStill;
  // In an election all take part.
  if (elects && unwell_.has_value()) return false;
  // A crash is over for the others when they have elected another leader.
  return move.kind == kCrash || move.kind == kMoveAway || TimeOf(move) <= longest_stall();
}

void Everyday::NoteTrouble() {
  calm_since_ = now();
  troubles_.push_back(now());
}

bool Everyday::HasSettled(base::BootTime granted) const {
  // A session timeout without trouble, whatever was before.
  base::BootTime since = granted;
  for (const base::BootTime trouble : troubles_) {
    if (trouble - since >= session_timeout_) return true;
    since = std::max(since, trouble);
  }
  if (now() - since >= session_timeout_) return true;
  const absl::Duration calm = session_timeout_ * kCalm;
  const base::BootTime settled = granted + calm;
  return now() >= settled && std::ranges::none_of(troubles_, [&](base::BootTime trouble) {
           return granted <= trouble + calm && trouble < settled;
         });
}

// ---- faults -------------------------------------------------------------------------------------

void Everyday::Begin(const Move& move) {
  NoteTrouble();
  switch (move.kind) {
    case kBreakOne:
      return hosts_[move.who]->BreakConnections();
    case kCannotReach:
      for (int i = 0; i < model().servers(); ++i) {
        const auto server = static_cast<int>(move.which);
        if (server == i || server >= model().servers()) cannot_reach_[move.who].set(i, server == i);
      }
      return SetDrops();
    case kAllStandStill:
    case kStepDown:
      return Stall(move);
    default:
      return BeUnwell(move);
  }
}

base::BootTime Everyday::NextEnd() const {
  base::BootTime next = base::BootTime::InfiniteFuture();
  for (const auto& fault : {unwell_, stall_}) {
    if (fault.has_value()) next = std::min(next, fault->until);
  }
  return next;
}

void Everyday::EndDue() {
  if (stall_.has_value() && stall_->until <= now()) {
    EndStall(std::exchange(stall_, std::nullopt)->move);
    NoteTrouble();
  }
  if (!unwell_.has_value() || now() < unwell_->until) return;
  if (stall_.has_value()) {
    unwell_->until = stall_->until;
  } else if (unwell_->began < calm_since_ && now() < calm_since_ + session_timeout_ * kCalm) {
    unwell_->until = calm_since_ + session_timeout_ * kCalm;  // something else came in between
  } else {
    BeWell(std::exchange(unwell_, std::nullopt)->move);
    NoteTrouble();
  }
}

void Everyday::BeUnwell(const Move& move) {
  const int server = ServerOf(move);
  const bool leads = server == model().leader();
  unwell_ = {move, now(), now() + TimeOf(move)};
  switch (move.kind) {
    case kStandStill:
      return model().StandStill(server, true, now());
    case kDropPackets:
      return SetDrops();
    case kLinkStalls:
      if (GivesUp(move)) return model().CutOff(server, now());
      return model().Stall(server, true, true, now());
    default:
      if (!leads) return model().Crash(server, now());
  }
  // The others elect one of them.
  const auto next = static_cast<uint32_t>((server + 1) % model().servers());
  const absl::Duration takes = std::min(TimeOf(move), longest_stall());
  Stall({kStepDown, next, static_cast<uint32_t>(absl::ToInt64Milliseconds(takes))});
}

void Everyday::BeWell(const Move& move) {
  const int server = ServerOf(move);
  switch (move.kind) {
    case kStandStill:
      return model().StandStill(server, false, now());
    case kDropPackets:
      return SetDrops();
    case kLinkStalls:
      model().Stall(server, false, false, now());
      return model().Heal(server, now());
    case kMoveAway:
      model().MoveAway(server);
      [[fallthrough]];
    default:
      return model().Heal(server, now());
  }
}

void Everyday::Stall(const Move& move) {
  stall_ = {move, now(), now() + TimeOf(move)};
  if (move.kind == kAllStandStill) return StandStill(true);
  // While they elect a leader servers hang up and serve nobody.
  for (int i = 0; i < model().servers(); ++i) model().Crash(i, now());
}

void Everyday::EndStall(const Move& move) {
  if (move.kind == kAllStandStill) return StandStill(false);
  for (int i = 0; i < model().servers(); ++i) {
    if (!IsUnwell(i, kCrash) && !IsUnwell(i, kMoveAway)) model().Heal(i, now());
  }
  if (model().leader() == ServerOf(move)) return;
  model().ElectLeader(ServerOf(move), model().proposals(), now());
}

void Everyday::StandStill(bool still) {
  for (int i = 0; i < model().servers(); ++i) {
    if (IsUnwell(i, kStandStill) || IsUnwell(i, kLinkStalls)) continue;
    model().StandStill(i, still, now());
  }
}

void Everyday::ReachAll() {
  for (auto& servers : cannot_reach_) servers = {};
  SetDrops();
}

void Everyday::SetDrops() {
  for (size_t i = 0; i < hosts_.size(); ++i) {
    for (int s = 0; s < model().servers(); ++s) {
      hosts_[i]->set_drops(s, cannot_reach_[i][s] || IsUnwell(s, kDropPackets));
    }
  }
}

}  // namespace zkrecipes::schedules
