// SPDX-License-Identifier: Apache-2.0
//
// Sessions of a ModelEnsemble, and what the leader hears of them as time goes on.

#include <algorithm>
#include <cassert>
#include <utility>

#include "testing/memory/model_ensemble.h"

namespace zkrecipes::testing::memory {

absl::Duration ModelEnsemble::Negotiated(absl::Duration asked) const {
  return std::clamp(asked, options_.min_session_timeout, options_.max_session_timeout);
}

// Expiry is looked for once a tick: never early, late by up to a tick.
base::BootTime ModelEnsemble::Bucket(base::BootTime time) const {
  if (options_.hostile_expiry) return time;
  const int64_t ticks = time.since_boot() / options_.tick + 1;
  return base::BootTime::SinceBoot(options_.tick * ticks);
}

void ModelEnsemble::Touch(zk::SessionId session, int server, base::BootTime now) {
  Ping(now);
  const auto it = sessions_.find(session);
  if (it == sessions_.end() || it->second.closing) return;
  Session& s = it->second;
  if (server == leader_) {
    s.lost_touch.set(server, false);
    s.deadline = std::max(s.deadline, Bucket(now + s.timeout));
    return;
  }
  s.lost_touch.set(server, loses_touches_ && !s.lost_touch[server]);
  if (!IsCutOff(server) && !s.lost_touch[server]) s.noted.set(server, true);
}

// ---- pings --------------------------------------------------------------------------------------

// Those of the time until now. All but the first find nothing new.
void ModelEnsemble::Ping(base::BootTime now) {
  if (now < next_ping_) return;
  for (auto& [id, session] : sessions_) {
    for (int i = 0; i < servers() && session.noted.any(); ++i) {
      if (session.noted[i] && HearsPings(i)) Collect(session, i, next_ping_);
    }
  }
  for (Server& server : servers_) server.ping_waits |= server.deaf;
  last_ping_ = next_ping_ + ping_gap_ * ((now - next_ping_) / ping_gap_);
  next_ping_ = last_ping_ + ping_gap_;
}

bool ModelEnsemble::HearsPings(int server) const {
  return Reaches(server) && !servers_[Index(server)].deaf && !servers_[Index(leader_)].still;
}

void ModelEnsemble::Collect(Session& session, int server, base::BootTime when) {
  session.noted.set(server, false);
  session.sent.set(server, true);
  if (!servers_[Index(server)].mute) Hear(session, server, when);
}

void ModelEnsemble::Hear(Session& session, int server, base::BootTime when) {
  session.sent.set(server, false);
  // A touch that arrives after the deadline is too late.
  if (when >= session.deadline) return;
  session.deadline = std::max(session.deadline, Bucket(when + session.timeout));
}

void ModelEnsemble::SetPingGap(absl::Duration gap, base::BootTime now) {
  Ping(now);
  ping_gap_ = gap;
  next_ping_ = std::max(now, last_ping_ + gap);
}

void ModelEnsemble::Stall(int server, bool from_leader, bool to_leader, base::BootTime now) {
  if (server == leader_ || IsCutOff(server)) return;
  Ping(now);
  Server& s = servers_[Index(server)];
  s.deaf = from_leader;
  s.mute = to_leader;
  const bool pinged = !s.deaf && std::exchange(s.ping_waits, false);
  for (auto& [id, session] : sessions_) {
    if (session.sent[server] && !s.mute) Hear(session, server, now);
    // Before any commit that waited behind the ping.
    if (session.noted[server] && pinged) Collect(session, server, now);
  }
}

void ModelEnsemble::StandStill(int server, bool still, base::BootTime now) {
  Ping(now);
  servers_[Index(server)].still = still;
  Stall(server, still, still, now);
}

// ---- the end of a session -----------------------------------------------------------------------

base::BootTime ModelEnsemble::DeadlineOf(const Session& session) const {
  if (session.noted.none()) return session.deadline;
  bool will_be_heard = false;
  for (int i = 0; i < servers(); ++i) {
    will_be_heard |= session.noted[i] && HearsPings(i) && !servers_[Index(i)].mute;
  }
  if (!will_be_heard || next_ping_ >= session.deadline) return session.deadline;
  return std::max(session.deadline, Bucket(next_ping_ + session.timeout));
}

base::BootTime ModelEnsemble::DeadlineOf(zk::SessionId session) const {
  return DeadlineOf(sessions_.at(session));
}

bool ModelEnsemble::SessionLives(zk::SessionId session) const {
  const auto it = sessions_.find(session);
  return it != sessions_.end() && !it->second.closing;
}

bool ModelEnsemble::Expire(zk::SessionId session, base::BootTime /*now*/) {
  if (!SessionLives(session) || !HasQuorum()) return false;
  ProposeClose(session, sessions_.at(session), 0);
  return true;
}

bool ModelEnsemble::CanCloseDue() const {
  const bool any = std::ranges::any_of(
      sessions_, [](const auto& entry) { return entry.second.due && !entry.second.closing; });
  return any && HasQuorum() && !servers_[Index(leader_)].still;
}

void ModelEnsemble::CloseDue() {
  assert(CanCloseDue());
  for (auto& [id, session] : sessions_) {
    if (session.due && !session.closing) return ProposeClose(id, session, 0);
  }
}

void ModelEnsemble::Tick(base::BootTime now) {
  Ping(now);
  for (int i = 0; i < servers(); ++i) {
    Server& server = servers_[Index(i)];
    if (server.cut_off && server.serving && now >= server.gives_up) StopServing(i);
  }
  if (!HasQuorum() || servers_[Index(leader_)].still) return;
  while (CanCloseDue()) CloseDue();
  for (auto& [id, session] : sessions_) {
    // What is yet to be heard only puts it off.
    if (session.closing || session.deadline > now || DeadlineOf(session) > now) continue;
    session.due = true;
    if (!options_.hostile_expiry) ProposeClose(id, session, 0);
  }
  if (now < next_reaping_) return;
  ReapContainers(now);
  while (next_reaping_ <= now) next_reaping_ = next_reaping_ + options_.container_check_interval;
}

base::BootTime ModelEnsemble::NextDeadline(base::BootTime at_most) const {
  base::BootTime next = at_most;
  for (const Server& server : servers_) {
    if (server.cut_off && server.serving) next = std::min(next, server.gives_up);
  }
  if (!HasQuorum() || servers_[Index(leader_)].still) return next;
  for (const auto& [id, session] : sessions_) {
    if (session.closing || session.due || session.deadline >= next) continue;
    next = std::min(next, DeadlineOf(session));
  }
  if (next <= next_reaping_) return next;
  const bool reaps = std::ranges::any_of(prepared_.nodes(), [this](const auto& entry) {
    return IsReapable(entry.second, base::BootTime::InfiniteFuture());
  });
  return reaps ? next_reaping_ : next;
}

}  // namespace zkrecipes::testing::memory
