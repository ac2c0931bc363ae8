// SPDX-License-Identifier: Apache-2.0
//
// What can happen in a MachineWorld. machine_client.cc: what it does to a client; story.cc: how it
// reads.

#include <algorithm>

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {
namespace {

using Kind = Step::Kind;
using State = queue::Contender::State;
constexpr int kAll = -1;

Step Of(Kind kind, size_t who = 0, size_t which = 0) {
  return {kind, static_cast<uint16_t>(who), static_cast<uint16_t>(which)};
}

}  // namespace

// ---- what can happen ---------------------------------------------------------------------------

void MachineWorld::ListSteps(std::vector<Step>& steps) const {
  if (!violation_.empty()) return;
  ListAllSteps(steps);
  if (setting_.alike) std::erase_if(steps, [this](Step s) { return ClientOf(s) > begun_; });
}

void MachineWorld::ListAllSteps(std::vector<Step>& steps) const {
  const bool faults = faults_ < setting_.most_faults;
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (!HasNews(clients_[i])) continue;
    // What one client reads is of no concern to the others and to the servers, nor the other way
    // round: whatever order the rest happens in, it could as well happen afterwards. So only what
    // this client and its contestants can do instead is tried. (A persistent set.)
    steps.push_back(Of(Kind::kDeliver, i));
    ListContestantSteps(steps, static_cast<int>(i));
    if (faults) ListFaults(steps, static_cast<int>(i));
    return;
  }
  ListEnsembleSteps(steps);
  ListConnects(steps);
  ListContestantSteps(steps, kAll);
  if (faults) ListFaults(steps, kAll);
}

bool MachineWorld::CanTake(const Step& step) const {
  std::vector<Step> steps;
  ListSteps(steps);
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

int MachineWorld::ClientOf(const Step& step) const {
  switch (step.kind) {
    case Kind::kConnect:
    case Kind::kDeliver:
    case Kind::kBreak:
    case Kind::kExpire:
      return step.who;
    case Kind::kExecute:
    case Kind::kDrop:
      for (size_t i = 0; i < clients_.size(); ++i) {
        if (clients_[i].connection == step.who) return static_cast<int>(i);
      }
      return -1;  // of one that has lost it, so something has happened to it
    case Kind::kApply:
    case Kind::kElect:
    case Kind::kReap:
      return -1;
    default:
      return contestants_[step.who].client;
  }
}

bool MachineWorld::IsOrphaned(memory::ConnectionId connection) const {
  return std::none_of(clients_.begin(), clients_.end(), [connection](const Client& client) {
    return client.connection == connection;
  });
}

void MachineWorld::ListEnsembleSteps(std::vector<Step>& steps) const {
  ensemble_.ForEachConnection([&](memory::ConnectionId id) {
    if (ensemble_.CanExecute(id)) steps.push_back(Of(Kind::kExecute, id));
    if (IsOrphaned(id)) steps.push_back(Of(Kind::kDrop, id));
  });
  for (int i = 0; setting_.lag && i < setting_.servers; ++i) {
    if (ensemble_.CanApply(i)) steps.push_back(Of(Kind::kApply, i));
  }
}

bool MachineWorld::HasNews(const Client& client) const {
  return client.connection != 0 &&
         (ensemble_.HasMessage(client.connection) || ensemble_.ServerHungUp(client.connection));
}

void MachineWorld::ListConnects(std::vector<Step>& steps) const {
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i].connection != 0) continue;
    for (int server = 0; server < setting_.servers; ++server) {
      // One that is behind would refuse it; without lag one is as good as another.
      const bool fit = setting_.lag ? ensemble_.last_zxid(server) >= clients_[i].seen_zxid
                                    : server == ensemble_.leader();
      if (fit) steps.push_back(Of(Kind::kConnect, i, server));
    }
  }
}

// Of one client's contestants, or of all. Timers are slow: they fire when nothing is on its way.
void MachineWorld::ListContestantSteps(std::vector<Step>& steps, int client) const {
  for (size_t i = 0; i < contestants_.size(); ++i) {
    const Contestant& c = contestants_[i];
    if (client != kAll && c.client != client) continue;
    if (CanRelease(c)) steps.push_back(Of(Kind::kRelease, i));
    if (CanFollow(c)) steps.push_back(Of(Kind::kFollow, i));
    if (!clients_[c.client].pending.empty()) continue;
    if (c.retry_due) steps.push_back(Of(Kind::kRetry, i));
    if (c.own_watch_due) steps.push_back(Of(Kind::kOwnWatch, i));
    if (c.delay_due != 0) steps.push_back(Of(Kind::kDelay, i));
  }
}

bool MachineWorld::CanStrike(Kind kind, int who) const {
  const auto contestant = [&]() -> const Contestant& { return contestants_[who]; };
  switch (kind) {
    case Kind::kBreak:
      return clients_[who].connection != 0;
    case Kind::kExpire:
      return ensemble_.SessionLives(clients_[who].session);
    case Kind::kOperatorDelete:
      return !NodesOf(who).empty();
    case Kind::kGiveUp:
      return !contestant().granted && !contestant().told_to_leave && !contestant().finished;
    case Kind::kLapse:
      return Believes(contestant());
    default:
      return true;
  }
}

// That strike one client and its contestants, or all there are.
void MachineWorld::ListFaults(std::vector<Step>& steps, int client) const {
  for (const Kind kind : setting_.faults) {
    const bool at_contestants = kind == Kind::kGiveUp || kind == Kind::kLapse;
    if (client != kAll && kind != Kind::kBreak && !at_contestants) continue;
    size_t targets = 1;
    if (kind == Kind::kBreak || kind == Kind::kExpire) targets = clients_.size();
    if (kind == Kind::kElect) targets = static_cast<size_t>(setting_.servers);
    if (kind == Kind::kOperatorDelete || at_contestants) targets = contestants_.size();
    for (size_t i = 0; i < targets; ++i) {
      const int whose = at_contestants ? contestants_[i].client : static_cast<int>(i);
      if (client != kAll && whose != client) continue;
      if (CanStrike(kind, static_cast<int>(i))) steps.push_back(Of(kind, i));
    }
  }
}

// ---- taking a step -----------------------------------------------------------------------------

void MachineWorld::Take(const Step& step) {
  begun_ = std::max(begun_, ClientOf(step) + 1);
  switch (step.kind) {
    case Kind::kConnect:
      Connect(step.who, step.which);
      break;
    case Kind::kExecute:
      ensemble_.Execute(step.who, base::BootTime());
      Spread();
      break;
    case Kind::kApply:
      ensemble_.Apply(step.who);
      break;
    case Kind::kDeliver:
      Deliver(step.who);
      break;
    case Kind::kRetry:
      contestants_[step.who].retry_due = false;
      Feed(step.who, queue::event::RetryDue{});
      break;
    case Kind::kOwnWatch:
      contestants_[step.who].own_watch_due = false;
      Feed(step.who, queue::event::OwnWatchDue{});
      break;
    case Kind::kDelay:
      contestants_[step.who].delayed = true;
      Feed(step.who, queue::event::DelayOver{
                         std::exchange(contestants_[step.who].delay_due, queue::OpId{0})});
      break;
    case Kind::kRelease:
      Leave(step.who);
      break;
    case Kind::kFollow:
      Follow(step.who);
      break;
    case Kind::kDrop:
      ensemble_.DropUnread(step.who);
      break;
    default:
      ++faults_;
      TakeFault(step);
  }
  CheckExclusion();
}

void MachineWorld::TakeFault(const Step& step) {
  switch (step.kind) {
    case Kind::kBreak:
      Lose(step.who);
      break;
    case Kind::kExpire:
      (void)ensemble_.Expire(clients_[step.who].session, base::BootTime());
      break;
    case Kind::kOperatorDelete:
      for (const std::string& path : NodesOf(step.who)) {
        (void)ensemble_.OperatorDeletes(path, base::BootTime());
      }
      break;
    case Kind::kGiveUp:
      Leave(step.who);
      break;
    case Kind::kLapse:
      Feed(step.who, queue::event::Lapsed{});
      if (Believes(contestants_[step.who])) Violate("a lease goes on after it has lapsed");
      break;
    case Kind::kElect:
      ensemble_.ElectLeader(step.who, 0, base::BootTime());
      break;
    default:
      ensemble_.ReapContainers(base::BootTime());
  }
  Spread();
}

void MachineWorld::Settle() {
  std::vector<Step> steps;
  do {
    for (const Step& step : steps) {
      if (IsChoice(step.kind) || IsFault(step.kind)) continue;
      Take(step);
      break;
    }
    steps.clear();
    ListSteps(steps);
    std::erase_if(steps, [](const Step& s) { return IsChoice(s.kind) || IsFault(s.kind); });
  } while (!steps.empty());
  begun_ = 0;
}

void MachineWorld::Leave(int contestant) {
  contestants_[contestant].told_to_leave = true;
  Feed(contestant, queue::event::Leave{});
}

// The quorum agrees at once; the others may lag behind the leader.
void MachineWorld::Spread() {
  while (ensemble_.CanCommit()) ensemble_.Commit();
  for (int i = 0; !setting_.lag && i < setting_.servers; ++i) {
    while (ensemble_.CanApply(i)) ensemble_.Apply(i);
  }
}

}  // namespace zkrecipes::explore
