// SPDX-License-Identifier: Apache-2.0
//
// What happens by itself, and what is checked after each move.

#include "verification/schedules/scene.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/one_shot.h"
#include "verification/schedules/lock_path.h"

namespace zkrecipes::explore::schedules {

using testing::memory::ConnectionId;
using testing::memory::Host;

namespace {

testing::memory::ModelOptions ModelOf(const SceneOptions& options) {
  testing::memory::ModelOptions model;
  model.servers = options.servers;
  model.keep_history = true;
  model.hostile_expiry = true;
  return model;
}

}  // namespace

Scene::Scene(const SceneOptions& options)
    : options_(options),
      simulation_(ModelOf(options), options.seed),
      judge_(kLockPath),
      slots_(Index(options.slots)) {
  for (int i = 0; i < options.processes; ++i) current_.push_back(OpenClient());
  if (options.next_sequence == 0) return;
  (void)model().OperatorCreates(kLockPath, {}, simulation_.now());
  model().Commit();
  for (int i = 0; i < servers(); ++i) {
    while (model().CanApply(i)) model().Apply(i);
  }
  model().SetNextSequence(kLockPath, options.next_sequence);
}

Scene::~Scene() {
  for (const auto& attempt : attempts_) attempt->lease.reset();
  // As a Client does when it goes: a session is never dropped while it may be in use.
  for (const Process& process : processes_) {
    process.core->Close(std::make_shared<base::OneShot<absl::Status>>());
  }
}

bool Scene::Make(const Move& move) {
  const bool made = MakeOrdinary(move) || MakeUserMove(move) || MakeFault(move);
  if (made) Check();
  return made;
}

void Scene::Break(Rule rule, const std::string& what) {
  if (!violation_.has_value()) violation_ = Violation{rule, what};
}

// ---- what happens by itself ----------------------------------------------------------------------

ConnectionId Scene::ConnectionOf(const Host& host) {
  ConnectionId found = 0;
  model().ForEachConnection([&](ConnectionId id) {
    if (host.Owns(id)) found = id;
  });
  return found;
}

std::vector<ConnectionId> Scene::Orphans() {
  std::vector<ConnectionId> orphans;
  model().ForEachConnection([&](ConnectionId id) {
    const auto owns = [id](const Process& process) { return process.host->Owns(id); };
    if (std::none_of(processes_.begin(), processes_.end(), owns)) orphans.push_back(id);
  });
  return orphans;
}

bool Scene::CanMake(const Move& move) {
  const bool is_process = move.who < processes_.size();
  switch (move.kind) {
    case MoveKind::kTask:
      return is_process && host(move.who).CanRunTask();
    case MoveKind::kDeliver:
      return is_process && host(move.who).CanDeliver();
    case MoveKind::kTimer:
      return is_process && host(move.who).CanRunTimer();
    case MoveKind::kCallback:
      return is_process && host(move.who).callbacks() > move.which;
    case MoveKind::kExecute: {
      if (!is_process || host(move.who).network() == Host::Network::kSilent) return false;
      const ConnectionId id = ConnectionOf(host(move.who));
      return id != 0 && model().CanExecute(id);
    }
    case MoveKind::kExecuteOrphan: {
      const std::vector<ConnectionId> orphans = Orphans();
      return move.who < orphans.size() && model().CanExecute(orphans[move.who]);
    }
    case MoveKind::kCommit:
      return model().CanCommit();
    case MoveKind::kApply:
      return move.who < static_cast<uint32_t>(servers()) &&
             model().CanApply(static_cast<int>(move.who));
    case MoveKind::kCloseDue:
      return model().CanCloseDue();
    case MoveKind::kAdvance: {
      const base::BootTime next = simulation_.NextDeadline();
      return simulation_.now() < next && next < base::BootTime::InfiniteFuture();
    }
    default:
      return false;
  }
}

bool Scene::MakeOrdinary(const Move& move) {
  if (!CanMake(move)) return false;
  switch (move.kind) {
    case MoveKind::kTask:
      host(move.who).RunTask();
      return true;
    case MoveKind::kDeliver:
      host(move.who).Deliver();
      return true;
    case MoveKind::kTimer:
      host(move.who).RunTimer();
      return true;
    case MoveKind::kCallback:
      host(move.who).RunCallback(move.which);
      return true;
    case MoveKind::kExecute:
      model().Execute(ConnectionOf(host(move.who)), simulation_.now());
      return true;
    case MoveKind::kExecuteOrphan:
      model().Execute(Orphans()[move.who], simulation_.now());
      return true;
    case MoveKind::kCommit:
      model().Commit();
      return true;
    case MoveKind::kApply:
      model().Apply(static_cast<int>(move.who));
      return true;
    case MoveKind::kCloseDue:
      model().CloseDue();
      return true;
    default:
      simulation_.SetTime(simulation_.NextDeadline());
      return true;
  }
}

void Scene::ListOrdinary(std::vector<Move>& moves) {
  const auto add = [&](const Move& move) {
    if (CanMake(move)) moves.push_back(move);
  };
  for (uint32_t i = 0; i < processes_.size(); ++i) {
    if (host(i).stopped() && host(i).callbacks() == 0) continue;
    for (const MoveKind kind :
         {MoveKind::kTask, MoveKind::kDeliver, MoveKind::kTimer, MoveKind::kExecute}) {
      add({kind, i});
    }
    for (uint32_t c = 0; c < host(i).callbacks(); ++c) moves.push_back({MoveKind::kCallback, i, c});
  }
  const auto orphans = static_cast<uint32_t>(Orphans().size());
  for (uint32_t i = 0; i < orphans; ++i) add({MoveKind::kExecuteOrphan, i});
  add({MoveKind::kCommit});
  for (uint32_t i = 0; i < static_cast<uint32_t>(servers()); ++i) add({MoveKind::kApply, i});
  add({MoveKind::kCloseDue});
  add({MoveKind::kAdvance});
}

// ---- rules ---------------------------------------------------------------------------------------

void Scene::Check() {
  judge_.Follow(model(), simulation_.now());
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] == nullptr) continue;
    if (slots_[i]->lease.has_value()) CheckLease(*slots_[i], i);
  }
  if (strict()) CheckOneBelieves();
}

// Even of a strict lease whose node has gone: it rests on the delay that the next one waits.
void Scene::CheckOneBelieves() {
  std::string who;
  for (const auto& attempt : slots_) {
    if (attempt == nullptr || !attempt->lease.has_value()) continue;
    if (attempt->lease->remaining() == absl::ZeroDuration()) continue;
    if (!who.empty()) {
      Break(Rule::kBothBelieved, absl::StrCat(who, " and ", attempt->lease->node()));
    }
    who = attempt->lease->node();
  }
}

void Scene::CheckLease(Attempt& attempt, size_t slot) {
  if (!attempt.believes()) return;
  const std::string who = absl::StrCat("slot ", slot, " with ", attempt.lease->node());
  if (attempt.losses > 0) Break(Rule::kHeldAfterLoss, who);
  const absl::Duration left = attempt.lease->remaining();
  if (!strict() && left > absl::ZeroDuration() && judge_.IsGone(attempt.node)) {
    Break(Rule::kBelievedTooLong, absl::StrCat(who, ", for another ", absl::FormatDuration(left)));
  }
  const zk::SessionId owner = judge_.OwnerOf(attempt.node);
  if (owner != attempt.core->session_id()) {
    Break(Rule::kForeignSession,
          absl::StrCat(who, " of session ", owner, " in session ", attempt.core->session_id()));
  }
}

void Scene::RunUntil(base::BootTime when) {
  simulation_.RunUntilIdle();
  Check();
  for (bool there = false; !there && !violation_.has_value();) {
    const base::BootTime next = std::max(simulation_.now(), simulation_.NextDeadline());
    there = next > when;
    simulation_.RunUntil(std::min(next, when));
    Check();
  }
}

std::string Scene::DescribeSession(zk::SessionId session) {
  const char* alive = model().SessionLives(session) ? "" : " (expired)";
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].core->session_id() != session) continue;
    return absl::StrCat("process ", i, alive);
  }
  return absl::StrCat("a session of before", alive);
}

std::string Scene::Describe() {
  std::string text = "  queue:";
  for (const auto& [czxid, path] : judge_.nodes()) {
    absl::StrAppend(&text, " #", path.substr(path.size() - 3), " of ",
                    DescribeSession(judge_.OwnerOf(czxid)));
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] == nullptr) continue;
    const bool holds = slots_[i]->lease.has_value();
    absl::StrAppend(&text, "\n  slot ", i, holds ? " has " : " waits",
                    holds ? slots_[i]->lease->node() : "",
                    slots_[i]->next != nullptr ? ", and goes on from it" : "");
  }
  return text;
}

}  // namespace zkrecipes::explore::schedules
