// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong in a Scene, and how it ends.

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "verification/schedules/scene.h"

namespace zkrecipes::explore::schedules {

using testing::memory::ConnectionId;
using testing::memory::Host;

// What docs/lease.md assumes for the sessions of a Scene. (Strict leases do not.)
constexpr absl::Duration kLongestPingGap = absl::Milliseconds(1100);

bool Scene::MakeFault(const Move& move) {
  if (!Befall(move)) return false;
  troubled_ = true;
  return true;
}

bool Scene::Befall(const Move& move) {
  const bool is_process = move.who < processes_.size();
  const bool is_server = move.who < static_cast<uint32_t>(servers());
  const int server = static_cast<int>(move.who);
  const base::BootTime now = simulation_.now();
  switch (move.kind) {
    case MoveKind::kBreak:
      if (is_process) host(move.who).BreakConnections();
      return is_process;
    case MoveKind::kDropOrphan: {
      const std::vector<ConnectionId> orphans = Orphans();
      if (move.who < orphans.size()) model().DropUnread(orphans[move.who]);
      return move.who < orphans.size();
    }
    case MoveKind::kExpire:
      if (is_process) Expire(processes_[move.who]);
      return is_process;
    case MoveKind::kForget:
      return is_process && Forget(processes_[move.who]);
    case MoveKind::kTooLate:
      return is_process && ArriveTooLate(processes_[move.who]);
    case MoveKind::kNetwork:
      if (is_process) host(move.who).set_network(static_cast<Host::Network>(move.which % 4));
      return is_process;
    case MoveKind::kPause:
      if (is_process) host(move.who).set_paused(move.which != 0);
      return is_process;
    case MoveKind::kMoveTo: {
      const int target = static_cast<int>(move.which);
      if (!is_process) return false;
      host(move.who).set_only_server(target < servers() ? std::optional(target) : std::nullopt);
      return true;
    }
    case MoveKind::kRate:
      if (is_process) host(move.who).set_clock_rate(std::max(move.which, 1u) / 1000.0);
      return is_process;
    case MoveKind::kWait:
      simulation_.SetTime(now + absl::Milliseconds(move.which));
      return true;
    case MoveKind::kGoOn:
      RunUntil(now + absl::Milliseconds(move.which));
      return true;
    case MoveKind::kElect:
      if (!is_server || model().IsCutOff(server)) return false;
      model().ElectLeader(server, move.which, now);
      return true;
    case MoveKind::kCutOff:
      if (is_server) model().CutOff(server, now);
      return is_server;
    case MoveKind::kHeal:
      if (is_server) model().Heal(server, now);
      return is_server;
    case MoveKind::kStall:
      if (is_server) model().Stall(server, move.which % 2 != 0, move.which / 2 % 2 != 0, now);
      return is_server;
    case MoveKind::kPingGap: {
      const absl::Duration gap = absl::Milliseconds(std::max(move.which, 1u));
      model().SetPingGap(strict() ? gap : std::min(gap, kLongestPingGap), now);
      return true;
    }
    case MoveKind::kLoseTouches:
      model().set_loses_touches(move.which != 0);
      return true;
    case MoveKind::kOperator:
      return OperatorDeletes(move.which);
    case MoveKind::kReap:
      model().ReapContainers(now);
      return true;
    default:
      return false;
  }
}

// No ensemble expires a session of which it has heard: so its client stands still for that long.
// (Strict leases do not rely on it.)
void Scene::Expire(const Process& process) {
  if (!strict()) {
    const bool was_paused = process.host->paused();
    process.host->set_paused(true);
    RunUntil(simulation_.now() + process.core->session_timeout());
    process.host->set_paused(was_paused);
  }
  (void)model().Expire(process.core->session_id(), simulation_.now());
}

// What is under way is answered; but its server's list of touches does not arrive any more.
bool Scene::Forget(const Process& process) {
  const std::optional<int> server = process.host->ConnectedTo();
  if (!server.has_value()) return false;
  simulation_.RunUntilIdle();
  model().Stall(*server, false, true, simulation_.now());
  simulation_.RunUntilIdle();
  Expire(process);
  return true;
}

// Of what can happen, only what the process and its server say to each other.
void Scene::TalkUntilIdle(Host& host) {
  for (bool more = true; more;) {
    const ConnectionId id = ConnectionOf(host);
    more = id != 0 && model().CanExecute(id);
    if (more) model().Finish(id, simulation_.now());
    for (; host.CanDeliver(); more = true) host.Deliver();
    for (; host.CanRunTask(); more = true) host.RunTask();
  }
}

// The leader has found the session's time to be over, and ends it a moment later: in between it takes
// up whatever comes.
bool Scene::ArriveTooLate(const Process& process) {
  const std::optional<int> server = process.host->ConnectedTo();
  const zk::SessionId session = process.core->session_id();
  if (!server.has_value() || !model().SessionLives(session)) return false;
  const base::BootTime over = model().DeadlineOf(session);
  if (over <= simulation_.now()) return false;
  RunUntil(over + -absl::Nanoseconds(1));
  simulation_.SetTime(over);
  model().Stall(*server, false, false, simulation_.now());
  TalkUntilIdle(*process.host);
  while (model().CanCloseDue()) model().CloseDue();
  // Committed before the client hears of it.
  const bool was_paused = process.host->paused();
  process.host->set_paused(true);
  simulation_.RunUntilIdle();
  process.host->set_paused(was_paused);
  return true;
}

bool Scene::OperatorDeletes(uint32_t which) {
  if (which >= judge_.nodes().size()) return false;
  const auto& node = *std::next(judge_.nodes().begin(), which);
  if (!model().OperatorDeletes(node.second, simulation_.now())) return false;
  for (const auto& attempt : Live()) {
    attempt->deleted |= attempt->core->session_id() == judge_.OwnerOf(node.first);
  }
  return true;
}

// ---- the end -------------------------------------------------------------------------------------

void Scene::EndQuietly() {
  MendEverything();
  LetEverybodyHaveATurn();
  if (!violation_.has_value()) CheckNothingIsLeft();
  if (!violation_.has_value()) CloseEverything();
  if (!violation_.has_value()) CheckCallbacks();
}

void Scene::MendEverything() {
  model().set_loses_touches(false);
  model().SetPingGap(model().options().tick / 2, simulation_.now());
  for (int i = 0; i < servers(); ++i) {
    model().Heal(i, simulation_.now());
    model().Stall(i, false, false, simulation_.now());
  }
  for (const Process& process : processes_) {
    process.host->set_paused(false);
    process.host->set_network(Host::Network::kUp);
    process.host->set_only_server(std::nullopt);
    process.host->set_clock_rate(1.0);
  }
}

void Scene::LetEverybodyHaveATurn() {
  const size_t enough = 2 * slots_.size() + 6;
  for (size_t round = 0; round < enough && !violation_.has_value(); ++round) {
    RunUntil(simulation_.now() + absl::Seconds(2));
    CheckWatches();
    if (round > 0) CheckNodesAreWanted();
    for (auto& attempt : slots_) {
      if (attempt == nullptr || !attempt->lease.has_value() || attempt->next != nullptr) continue;
      CheckWasTold(*attempt);
      Release(*attempt);
      attempt = nullptr;
    }
    const auto idle = [](const auto& attempt) { return attempt == nullptr; };
    if (std::all_of(slots_.begin(), slots_.end(), idle)) return;
  }
  Break(Rule::kNeverAnswered, Describe());
}

void Scene::CheckWasTold(const Attempt& attempt) {
  const Lease::State state = attempt.lease->state();
  const bool over = state == Lease::State::kLost || state == Lease::State::kReleased;
  const bool there = judge_.nodes().count(attempt.node) > 0;
  if (!over && !there) Break(Rule::kNotTold, "held without a node: " + attempt.lease->node());
  if (over && attempt.losses == 0) Break(Rule::kNotTold, "lost: " + attempt.lease->node());
}

// Nobody watches but its own node or the one in front of it. A watch whose removal was lost with
// the connection may stay: so this holds only where each client still has its first one.
void Scene::CheckWatches() {
  if (troubled_ || model().connections_made() > processes_.size()) return;
  for (const auto& [session, path] : model().Watches()) {
    bool wanted = false;
    for (const auto& [czxid, node] : judge_.nodes()) {
      wanted |= judge_.OwnerOf(czxid) == session && (path == node || judge_.MayWatch(czxid, path));
    }
    if (!wanted) Break(Rule::kWatchLeft, path);
  }
}

// Who has given up has no node any more.
void Scene::CheckNodesAreWanted() {
  for (const Process& process : processes_) {
    const auto its = [&](const auto& node) {
      return judge_.OwnerOf(node.first) == process.core->session_id();
    };
    const auto wanted = [&](const auto& attempt) { return attempt->core == process.core; };
    const auto& nodes = judge_.nodes();
    const auto live = Live();
    if (std::count_if(nodes.begin(), nodes.end(), its) >
        std::count_if(live.begin(), live.end(), wanted)) {
      Break(Rule::kNodeLeft, Describe());
    }
  }
}

// Longer than a session can outlive its client.
void Scene::CheckNothingIsLeft() {
  RunUntil(simulation_.now() + absl::Seconds(6));
  for (const auto& [czxid, path] : judge_.nodes()) Break(Rule::kNodeLeft, path);
  const size_t watches = model().watches();
  if (watches > 0) Break(Rule::kWatchLeft, absl::StrCat(watches, " watches"));
}

void Scene::CloseEverything() {
  std::vector<std::shared_ptr<base::OneShot<absl::Status>>> closed;
  for (const Process& process : processes_) {
    closed.push_back(std::make_shared<base::OneShot<absl::Status>>());
    process.core->Close(closed.back());
  }
  simulation_.RunUntil(simulation_.now() + absl::Seconds(1));
  for (size_t i = 0; i < closed.size(); ++i) {
    if (!processes_[i].host->stopped()) Break(Rule::kNotClosed, absl::StrCat("process ", i));
  }
}

void Scene::CheckCallbacks() {
  for (const auto& attempt : attempts_) {
    if (attempt->answers != 1) Break(Rule::kNeverAnswered, "an attempt of long ago");
    if (attempt->on_lost.has_value() && attempt->losses != 1) {
      Break(Rule::kNeverAnswered, absl::StrCat("lost() was heard ", attempt->losses, " times"));
    }
  }
}

}  // namespace zkrecipes::explore::schedules
