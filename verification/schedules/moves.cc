// SPDX-License-Identifier: Apache-2.0
//
// The table of moves, and how they read.

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "verification/schedules/lock_world.h"

namespace zkrecipes::schedules {

using testing::memory::ConnectionId;
using testing::memory::Host;
using enum MoveKind;

namespace {

constexpr std::array<uint8_t, kWeatherNames.size()> In(uint8_t rough, uint8_t storm,
                                                       uint8_t partition, uint8_t edge,
                                                       uint8_t hostile = 0) {
  return {0, rough, storm, partition, edge, hostile, 0};
}

}  // namespace

constexpr MoveRow LockWorld::Daily(MoveKind kind, const char* name, const char* story, Who who,
                                   uint8_t weight) {
  return {kind,
          name,
          story,
          who,
          [](LockWorld& w, Move m) { w.everyday_->Begin(m); },
          [](LockWorld& w, Move m) { return w.everyday_ != nullptr && w.everyday_->MayBegin(m); },
          {0, 0, 0, 0, 0, 0, weight}};
}

const MoveRow LockWorld::kMoves[] = {
    // ---- What happens by itself. ----
    {kTask, "task", "process # runs a task", Who::kProcess,
     [](auto& w, Move m) { w.host(m.who).RunTask(); },
     [](auto& w, Move m) { return w.host(m.who).CanRunTask(); }},
    {kDeliver, "deliver", "process # reads what its server sent", Who::kProcess,
     [](auto& w, Move m) { w.host(m.who).Deliver(); },
     [](auto& w, Move m) { return w.host(m.who).CanDeliver(); }},
    {kTimer, "timer", "process # runs a timer", Who::kProcess,
     [](auto& w, Move m) { w.host(m.who).RunTimer(); },
     [](auto& w, Move m) { return w.host(m.who).CanRunTimer(); }},
    {kCallback, "callback", "process # runs callback %", Who::kProcess,
     [](auto& w, Move m) { w.host(m.who).RunCallback(m.which); },
     [](auto& w, Move m) { return w.host(m.who).callbacks() > m.which; }},
    {kExecute, "execute", "the server of process # reads its next request", Who::kProcess,
     [](auto& w, Move m) { w.model().Execute(w.ConnectionOf(m.who), w.now()); },
     [](auto& w, Move m) {
       const ConnectionId id = w.ConnectionOf(m.who);
       return id != 0 && w.model().CanExecute(id) &&
              w.host(m.who).network() != Host::Network::kSilent;
     }},
    {kExecuteOrphan, "execute_orphan",
     "a server reads on from connection # that its client has given up", Who::kOrphan,
     [](auto& w, Move m) { w.model().Execute(w.Orphans()[m.who], w.now()); },
     [](auto& w, Move m) { return w.model().CanExecute(w.Orphans()[m.who]); }},
    {kCommit, "commit", "the quorum commits the oldest proposal", Who::kNone,
     [](auto& w, Move) { w.model().Commit(); },
     [](auto& w, Move) { return w.model().CanCommit(); }},
    {kApply, "apply", "server # applies the next transaction", Who::kServer,
     [](auto& w, Move m) { w.model().Apply(static_cast<int>(m.who)); },
     [](auto& w, Move m) { return w.model().CanApply(static_cast<int>(m.who)); }},
    {kCloseDue, "close_due", "the leader closes a session whose time is over", Who::kNone,
     [](auto& w, Move) { w.model().CloseDue(); },
     [](auto& w, Move) { return w.model().CanCloseDue(); }},
    {kAdvance, "advance", "time goes on to the next deadline", Who::kNone,
     [](auto& w, Move) { w.simulation_.SetTime(w.simulation_.NextDeadline()); },
     [](auto& w, Move) {
       const base::BootTime next = w.simulation_.NextDeadline();
       return !w.everyday() && w.now() < next && next < base::BootTime::InfiniteFuture();
     }},

    // ---- What users do. ----
    {kAcquire, "acquire", "slot # asks for the lock", Who::kSlot,
     [](auto& w, Move m) { w.Begin(m.who, m.kind); },
     [](auto& w, Move m) { return w.slots_[m.who] == nullptr; }},
    {kAcquireBriefly, "acquire_briefly", "slot # asks for the lock for two seconds", Who::kSlot,
     [](auto& w, Move m) { w.Begin(m.who, m.kind); },
     [](auto& w, Move m) { return w.slots_[m.who] == nullptr; }},
    {kTry, "try", "slot # tries the lock", Who::kSlot,
     [](auto& w, Move m) { w.Begin(m.who, m.kind); },
     [](auto& w, Move m) { return w.slots_[m.who] == nullptr; }},
    {kCancel, "cancel", "slot # cancels its wait", Who::kSlot,
     [](auto& w, Move m) { w.NewestOf(m.who)->Cancel(); },
     [](auto& w, Move m) {
       const Bid* bid = w.NewestOf(m.who);
       return bid != nullptr && bid->waiting() && !bid->cancelled;
     }},
    {kRelease, "release", "slot # drops its lease", Who::kSlot,
     [](auto& w, Move m) { std::exchange(w.slots_[m.who], nullptr)->Release(); },
     [](auto& w, Move m) { return w.Holds(m.who); }},
    {kGoUpOrDown, "go_up_or_down", "slot # goes on to write, or to read", Who::kSlot,
     [](auto& w, Move m) { w.GoUpOrDown(m.who); },
     [](auto& w, Move m) { return w.GoingOn(m.who).has_value(); }},
    {kObserve, "observe", "process # begins to observe, or stops", Who::kClient,
     [](auto& w, Move m) {
       const Process& process = w.processes_[w.current_[m.who]];
       w.elects() ? w.election_->ObserveOrStop(process.core)
                  : w.shards_->WatchOrStop(process.client);
     },
     [](auto& w, Move) { return w.elects() || w.shards() != nullptr; }},
    {kProclaim, "proclaim", "slot # proclaims another value", Who::kSlot,
     [](auto& w, Move m) { w.Proclaim(m.who); },
     [](auto& w, Move m) { return w.elects() && w.Holds(m.who) && w.slots_[m.who]->believes(); }},
    {kAbandon, "abandon", "slot # gives up its last proclamation", Who::kSlot,
     [](auto& w, Move m) { w.election_->Abandon(w.slots_[m.who]->node); },
     [](auto& w, Move m) {
       return w.elects() && w.Holds(m.who) && w.election_->Proclaims(w.slots_[m.who]->node);
     }},
    {kWrite, "write", "slot # writes to the register under its lease", Who::kSlot,
     [](auto& w, Move m) { w.Write(m.who); },
     [](auto& w, Move m) { return w.writes() && w.Holds(m.who); }},
    {kGiveUpWrite, "give_up_write", "slot # waits no more for its last write", Who::kSlot,
     [](auto& w, Move m) { w.register_->GiveUp(w.slots_[m.who]->node); },
     [](auto& w, Move m) {
       return w.writes() && w.Holds(m.who) && w.register_->Writes(w.slots_[m.who]->node);
     }},
    {kMember, "member", "slot # becomes a member, or leaves", Who::kMember,
     [](auto& w, Move m) { w.JoinOrLeave(m.who); }, nullptr},
    {kEndAsked, "end_asked", "slot # ends the work that is to end", Who::kMember,
     [](auto& w, Move m) { w.shards_->EndAsked(m.who); },
     [](auto& w, Move m) { return w.shards_->Works(m.who, true) > 0; }},
    {kEndWork, "end_work", "slot # ends its work %, whether or not that is to end", Who::kMember,
     [](auto& w, Move m) { w.shards_->EndWork(m.who, m.which); },
     [](auto& w, Move m) { return m.which < w.shards_->Works(m.who, false); }},
    {kCloseClient, "close_client", "process # closes its client and opens another one",
     Who::kClient, [](auto& w, Move m) { w.CloseClient(m.who); }, nullptr, In(0, 1, 0, 0)},
    {kMisbehave, "misbehave",
     "the next callback of process # does % (0 destroys its leases and subscriptions, 1 closes its "
     "client, 2 forks, 3 throws)",
     Who::kClient,
     [](auto& w, Move m) {
       w.processes_[w.current_[m.who]].misdeed = static_cast<Misdeed>(m.which);
     },
     [](auto& w, Move m) { return w.misbehaves() && m.which < kMisdeeds; }},
    {kFork, "fork", "a process forks, and its child uses and destroys all that it finds",
     Who::kNone, [](auto& w, Move) { w.Fork(); }, nullptr},

    // ---- What goes wrong. ----
    {kBreak, "break", "the connection of process # breaks", Who::kProcess,
     [](auto& w, Move m) { w.host(m.who).BreakConnections(); }, nullptr, In(2, 2, 1, 0, 2)},
    {kDropOrphan, "drop_orphan",
     "a server notices that connection # is gone, and reads no more from it", Who::kOrphan,
     [](auto& w, Move m) { w.model().DropUnread(w.Orphans()[m.who]); }, nullptr,
     In(1, 1, 0, 0, 1)},
    {kExpire, "expire", "the ensemble expires the session of process #", Who::kProcess,
     [](auto& w, Move m) { w.Expire(m.who); }, nullptr, In(0, 1, 1, 0, 1)},
    {kForget, "forget",
     "what is under way is answered, but the leader hears no more of process #, until it ends its "
     "session",
     Who::kProcess, [](auto& w, Move m) { w.Forget(m.who); },
     [](auto& w, Move m) { return w.ServerOf(m.who).has_value(); }, In(0, 0, 0, 3)},
    {kTooLate, "too_late",
     "the time of process #'s session is over; what was on its way arrives and is answered, then "
     "the leader ends it",
     Who::kProcess, [](auto& w, Move m) { w.ArriveTooLate(m.who); },
     [](auto& w, Move m) {
       const zk::SessionId session = w.processes_[m.who].core->session_id();
       return w.ServerOf(m.who).has_value() && w.model().SessionLives(session) &&
              w.model().DeadlineOf(session) > w.now();
     },
     In(0, 0, 0, 1)},
    {kNetwork, "network", "the network of process # is % (0 up, 1 down, 2 deaf, 3 silent)",
     Who::kProcess,
     [](auto& w, Move m) {
       w.host(m.who).set_network(static_cast<Host::Network>(m.which % 4));
     },
     nullptr, In(2, 2, 0, 0, 1)},
    {kPause, "pause", "process # stands still: %", Who::kProcess,
     [](auto& w, Move m) { w.host(m.who).set_paused(m.which != 0); }, nullptr,
     In(0, 1, 0, 0), 2},
    {kMoveTo, "move_to", "process # can reach server % only (beyond the last: any)", Who::kProcess,
     [](auto& w, Move m) {
       const int server = static_cast<int>(m.which);
       w.host(m.who).set_only_server(server < w.servers() ? std::optional(server) : std::nullopt);
     },
     nullptr, In(1, 1, 1, 0, 1)},
    {kRate, "rate", "the clock of process # runs at % thousandths of the ensemble's rate",
     Who::kProcess,
     [](auto& w, Move m) { w.host(m.who).set_clock_rate(std::max(m.which, 1u) / 1000.0); },
     nullptr, In(0, 1, 1, 1)},
    {kWait, "wait", "% ms go by in which no process does anything", Who::kNone,
     [](auto& w, Move m) {
       w.simulation_.SetTime(w.now() + absl::Milliseconds(m.which));
     },
     nullptr, In(0, 1, 1, 2)},
    {kGoOn, "go_on", "% ms go by in which everything goes on", Who::kNone,
     [](auto& w, Move m) { w.RunUntil(w.now() + absl::Milliseconds(m.which)); }, nullptr,
     In(0, 0, 0, 1)},
    {kElect, "elect", "server # is elected, % proposals survive", Who::kServer,
     [](auto& w, Move m) {
       w.model().ElectLeader(static_cast<int>(m.who), m.which, w.now());
     },
     [](auto& w, Move m) { return !w.model().IsCutOff(static_cast<int>(m.who)); },
     In(0, 1, 2, 0, 1), 3},
    {kCutOff, "cut_off", "server # is cut off from the others", Who::kServer,
     [](auto& w, Move m) { w.model().CutOff(static_cast<int>(m.who), w.now()); }, nullptr,
     In(0, 0, 1, 0)},
    {kHeal, "heal", "server # is back with the others", Who::kServer,
     [](auto& w, Move m) { w.model().Heal(static_cast<int>(m.who), w.now()); }, nullptr,
     In(0, 0, 1, 0)},
    {kStall, "stall",
     "between server # and the leader messages wait on their way: % (0 not any more, 1 those from "
     "the leader, 2 those to it, 3 all)",
     Who::kServer,
     [](auto& w, Move m) {
       w.model().Stall(static_cast<int>(m.who), m.which % 2 != 0, m.which / 2 % 2 != 0, w.now());
     },
     nullptr, In(0, 1, 2, 3), 4},
    {kPingGap, "ping_gap", "the leader pings every % ms", Who::kNone,
     [](auto& w, Move m) { w.SetPingGap(absl::Milliseconds(std::max(m.which, 1u))); },
     nullptr, In(0, 1, 1, 1)},
    {kLoseTouches, "lose_touches", "followers lose every second touch of a session: %", Who::kNone,
     [](auto& w, Move m) { w.model().set_loses_touches(m.which != 0); }, nullptr,
     In(0, 1, 1, 1), 2},
    {kOperator, "operator", "an operator deletes node % of the queue", Who::kNone,
     [](auto& w, Move m) { w.OperatorDeletes(m.which); },
     [](auto& w, Move m) { return m.which < w.history_.nodes().size(); }, In(0, 1, 0, 0)},
    {kReap, "reap", "empty containers are reaped", Who::kNone,
     [](auto& w, Move) { w.model().ReapContainers(w.now()); }, nullptr, In(1, 1, 0, 0, 1)},

    // ---- What another tenant of the ensemble does. ----
    {kTenantCreates, "tenant_creates", "the tenant creates node % of its list", Who::kNone,
     [](auto& w, Move m) { w.tenant_.Create(m.which, w.now()); },
     [](auto& w, Move) { return w.options_.next_sequence == 0; }, In(0, 0, 0, 0, 5),
     static_cast<uint32_t>(Tenant::kNodes)},
    {kTenantDeletes, "tenant_deletes", "the tenant deletes node % of its list", Who::kNone,
     [](auto& w, Move m) { w.tenant_.Delete(m.which, w.now()); }, nullptr, In(0, 0, 0, 0, 3),
     static_cast<uint32_t>(Tenant::kNodes)},
    {kTenantDenies, "tenant_denies",
     "the tenant changes an ACL: % (modulo 3: 0 nothing allowed, 1 not to delete, 2 not to read; "
     "of the path, or a node below it)",
     Who::kNone, [](auto& w, Move m) { w.tenant_.Deny(m.which, w.history_); }, nullptr,
     In(0, 0, 0, 0, 2), 12},
    {kTenantAllows, "tenant_allows", "the tenant opens all ACLs again", Who::kNone,
     [](auto& w, Move) { w.tenant_.AllowAll(); }, nullptr, In(0, 0, 0, 0, 2)},
    {kTenantWrites, "tenant_writes", "the tenant replaces the data of a contender by its text %",
     Who::kNone, [](auto& w, Move m) { w.tenant_.Write(m.which, w.history_); }, nullptr,
     In(0, 0, 0, 0, 1), 12},
    {kTenantCrowds, "tenant_crowds", "the tenant creates % nodes below the path", Who::kNone,
     [](auto& w, Move m) { w.tenant_.Crowd(m.which, w.now()); },
     [](auto& w, Move) { return w.options_.next_sequence == 0; }, In(0, 0, 0, 0, 1)},

    // ---- What leases outlive (everyday.h). ----
    Daily(kStandStill, "stand_still", "server # stands still for % ms", Who::kServer, 3),
    Daily(kCrash, "crash", "server # crashes, and is back after % ms", Who::kServer, 2),
    Daily(kMoveAway, "move_away", "server # crashes, and is back at another address after % ms",
          Who::kServer, 2),
    Daily(kDropPackets, "drop_packets",
          "packets between server # and all processes are dropped for % ms", Who::kServer, 2),
    Daily(kLinkStalls, "link_stalls",
          "between server # and the leader nothing passes for % ms", Who::kServer, 2),
    Daily(kCannotReach, "cannot_reach",
          "packets between process # and server % are dropped (beyond the last: not any more)",
          Who::kProcess, 2),
    Daily(kAllStandStill, "all_stand_still", "all servers stand still for % ms", Who::kNone, 3),
    Daily(kStepDown, "step_down", "the leader steps down, and server # leads after % ms",
          Who::kServer, 2),
    Daily(kBreakOne, "break_one", "the connection of process # breaks, once", Who::kProcess, 1),
};

const MoveRow& RowOf(MoveKind kind) { return LockWorld::kMoves[static_cast<size_t>(kind)]; }

// ---- How they read ------------------------------------------------------------------------------

std::string ToString(const std::vector<Move>& moves) {
  return absl::StrJoin(moves, " ", [](std::string* out, const Move& move) {
    *out += RowOf(move.kind).name;
    if (move.who != 0 || move.which != 0) absl::StrAppend(out, ":", move.who);
    if (move.which != 0) absl::StrAppend(out, ":", move.which);
  });
}

std::optional<std::vector<Move>> ParseMoves(const std::string& text) {
  std::vector<Move> moves;
  for (const absl::string_view part : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::vector<std::string> words = absl::StrSplit(part, ':');
    const auto row = std::find_if(std::begin(LockWorld::kMoves), std::end(LockWorld::kMoves),
                                  [&](const MoveRow& r) { return r.name == words[0]; });
    Move move;
    if (row == std::end(LockWorld::kMoves) || words.size() > 3) return std::nullopt;
    if (words.size() > 1 && !absl::SimpleAtoi(words[1], &move.who)) return std::nullopt;
    if (words.size() > 2 && !absl::SimpleAtoi(words[2], &move.which)) return std::nullopt;
    move.kind = row->kind;
    moves.push_back(move);
  }
  return moves;
}

std::string Describe(const Move& move) {
  return absl::StrReplaceAll(RowOf(move.kind).story,
                             {{"#", absl::StrCat(move.who)}, {"%", absl::StrCat(move.which)}});
}

}  // namespace zkrecipes::schedules
