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

#include "verification/schedules/scene.h"

namespace zkrecipes::schedules {

using testing::memory::ConnectionId;
using testing::memory::Host;
using enum MoveKind;

namespace {

constexpr std::array<uint8_t, kWeatherNames.size()> In(uint8_t rough, uint8_t storm,
                                                       uint8_t partition, uint8_t edge) {
  return {0, rough, storm, partition, edge};
}

}  // namespace

const MoveRow Scene::kMoves[] = {
    // ---- What happens by itself. ----
    {kTask, "task", "process # runs a task", Who::kProcess,
     [](Scene& s, const Move& m) { s.host(m.who).RunTask(); },
     [](Scene& s, const Move& m) { return s.host(m.who).CanRunTask(); }},
    {kDeliver, "deliver", "process # reads what its server sent", Who::kProcess,
     [](Scene& s, const Move& m) { s.host(m.who).Deliver(); },
     [](Scene& s, const Move& m) { return s.host(m.who).CanDeliver(); }},
    {kTimer, "timer", "process # runs a timer", Who::kProcess,
     [](Scene& s, const Move& m) { s.host(m.who).RunTimer(); },
     [](Scene& s, const Move& m) { return s.host(m.who).CanRunTimer(); }},
    {kCallback, "callback", "process # runs callback %", Who::kProcess,
     [](Scene& s, const Move& m) { s.host(m.who).RunCallback(m.which); },
     [](Scene& s, const Move& m) { return s.host(m.who).callbacks() > m.which; }},
    {kExecute, "execute", "the server of process # reads its next request", Who::kProcess,
     [](Scene& s, const Move& m) { s.model().Execute(s.ConnectionOf(m.who), s.now()); },
     [](Scene& s, const Move& m) {
       const ConnectionId id = s.ConnectionOf(m.who);
       return id != 0 && s.model().CanExecute(id) &&
              s.host(m.who).network() != Host::Network::kSilent;
     }},
    {kExecuteOrphan, "execute_orphan",
     "a server reads on from connection # that its client has given up", Who::kOrphan,
     [](Scene& s, const Move& m) { s.model().Execute(s.Orphans()[m.who], s.now()); },
     [](Scene& s, const Move& m) { return s.model().CanExecute(s.Orphans()[m.who]); }},
    {kCommit, "commit", "the quorum commits the oldest proposal", Who::kNone,
     [](Scene& s, const Move&) { s.model().Commit(); },
     [](Scene& s, const Move&) { return s.model().CanCommit(); }},
    {kApply, "apply", "server # applies the next transaction", Who::kServer,
     [](Scene& s, const Move& m) { s.model().Apply(static_cast<int>(m.who)); },
     [](Scene& s, const Move& m) { return s.model().CanApply(static_cast<int>(m.who)); }},
    {kCloseDue, "close_due", "the leader closes a session whose time is over", Who::kNone,
     [](Scene& s, const Move&) { s.model().CloseDue(); },
     [](Scene& s, const Move&) { return s.model().CanCloseDue(); }},
    {kAdvance, "advance", "time goes on to the next deadline", Who::kNone,
     [](Scene& s, const Move&) { s.simulation_.SetTime(s.simulation_.NextDeadline()); },
     [](Scene& s, const Move&) {
       const base::BootTime next = s.simulation_.NextDeadline();
       return s.now() < next && next < base::BootTime::InfiniteFuture();
     }},

    // ---- What users do. ----
    {kAcquire, "acquire", "slot # asks for the lock", Who::kSlot,
     [](Scene& s, const Move& m) { s.Begin(m.who, m.kind); },
     [](Scene& s, const Move& m) { return s.slots_[m.who] == nullptr; }},
    {kAcquireBriefly, "acquire_briefly", "slot # asks for the lock for two seconds", Who::kSlot,
     [](Scene& s, const Move& m) { s.Begin(m.who, m.kind); },
     [](Scene& s, const Move& m) { return s.slots_[m.who] == nullptr; }},
    {kTry, "try", "slot # tries the lock", Who::kSlot,
     [](Scene& s, const Move& m) { s.Begin(m.who, m.kind); },
     [](Scene& s, const Move& m) { return s.slots_[m.who] == nullptr; }},
    {kCancel, "cancel", "slot # cancels its wait", Who::kSlot,
     [](Scene& s, const Move& m) { s.NewestOf(m.who)->Cancel(); },
     [](Scene& s, const Move& m) {
       const Attempt* attempt = s.NewestOf(m.who);
       return attempt != nullptr && attempt->waiting() && !attempt->cancelled;
     }},
    {kRelease, "release", "slot # drops its lease", Who::kSlot,
     [](Scene& s, const Move& m) { std::exchange(s.slots_[m.who], nullptr)->Release(); },
     [](Scene& s, const Move& m) { return s.Holds(m.who); }},
    {kGoUpOrDown, "go_up_or_down", "slot # goes on to write, or to read", Who::kSlot,
     [](Scene& s, const Move& m) { s.GoUpOrDown(m.who); },
     [](Scene& s, const Move& m) { return s.GoingOn(m.who).has_value(); }},
    {kCloseClient, "close_client", "process # closes its client and opens another one",
     Who::kClient, [](Scene& s, const Move& m) { s.CloseClient(m.who); }, nullptr, In(0, 1, 0, 0)},

    // ---- What goes wrong. ----
    {kBreak, "break", "the connection of process # breaks", Who::kProcess,
     [](Scene& s, const Move& m) { s.host(m.who).BreakConnections(); }, nullptr, In(2, 2, 1, 0)},
    {kDropOrphan, "drop_orphan",
     "a server notices that connection # is gone, and reads no more from it", Who::kOrphan,
     [](Scene& s, const Move& m) { s.model().DropUnread(s.Orphans()[m.who]); }, nullptr,
     In(1, 1, 0, 0)},
    {kExpire, "expire", "the ensemble expires the session of process #", Who::kProcess,
     [](Scene& s, const Move& m) { s.Expire(m.who); }, nullptr, In(0, 1, 1, 0)},
    {kForget, "forget",
     "what is under way is answered, but the leader hears no more of process #, until it ends its "
     "session",
     Who::kProcess, [](Scene& s, const Move& m) { s.Forget(m.who); },
     [](Scene& s, const Move& m) { return s.ServerOf(m.who).has_value(); }, In(0, 0, 0, 3)},
    {kTooLate, "too_late",
     "the time of process #'s session is over; what was on its way arrives and is answered, then "
     "the leader ends it",
     Who::kProcess, [](Scene& s, const Move& m) { s.ArriveTooLate(m.who); },
     [](Scene& s, const Move& m) {
       const zk::SessionId session = s.processes_[m.who].core->session_id();
       return s.ServerOf(m.who).has_value() && s.model().SessionLives(session) &&
              s.model().DeadlineOf(session) > s.now();
     },
     In(0, 0, 0, 1)},
    {kNetwork, "network", "the network of process # is % (0 up, 1 down, 2 deaf, 3 silent)",
     Who::kProcess,
     [](Scene& s, const Move& m) {
       s.host(m.who).set_network(static_cast<Host::Network>(m.which % 4));
     },
     nullptr, In(2, 2, 0, 0)},
    {kPause, "pause", "process # stands still: %", Who::kProcess,
     [](Scene& s, const Move& m) { s.host(m.who).set_paused(m.which != 0); }, nullptr,
     In(0, 1, 0, 0), 2},
    {kMoveTo, "move_to", "process # can reach server % only (beyond the last: any)", Who::kProcess,
     [](Scene& s, const Move& m) {
       const int server = static_cast<int>(m.which);
       s.host(m.who).set_only_server(server < s.servers() ? std::optional(server) : std::nullopt);
     },
     nullptr, In(1, 1, 1, 0)},
    {kRate, "rate", "the clock of process # runs at % thousandths of the ensemble's rate",
     Who::kProcess,
     [](Scene& s, const Move& m) { s.host(m.who).set_clock_rate(std::max(m.which, 1u) / 1000.0); },
     nullptr, In(0, 1, 1, 1)},
    {kWait, "wait", "% ms go by in which no process does anything", Who::kNone,
     [](Scene& s, const Move& m) {
       s.simulation_.SetTime(s.now() + absl::Milliseconds(m.which));
     },
     nullptr, In(0, 1, 1, 2)},
    {kGoOn, "go_on", "% ms go by in which everything goes on", Who::kNone,
     [](Scene& s, const Move& m) { s.RunUntil(s.now() + absl::Milliseconds(m.which)); }, nullptr,
     In(0, 0, 0, 1)},
    {kElect, "elect", "server # is elected, % proposals survive", Who::kServer,
     [](Scene& s, const Move& m) {
       s.model().ElectLeader(static_cast<int>(m.who), m.which, s.now());
     },
     [](Scene& s, const Move& m) { return !s.model().IsCutOff(static_cast<int>(m.who)); },
     In(0, 1, 2, 0), 3},
    {kCutOff, "cut_off", "server # is cut off from the others", Who::kServer,
     [](Scene& s, const Move& m) { s.model().CutOff(static_cast<int>(m.who), s.now()); }, nullptr,
     In(0, 0, 1, 0)},
    {kHeal, "heal", "server # is back with the others", Who::kServer,
     [](Scene& s, const Move& m) { s.model().Heal(static_cast<int>(m.who), s.now()); }, nullptr,
     In(0, 0, 1, 0)},
    {kStall, "stall",
     "between server # and the leader messages wait on their way: % (0 not any more, 1 those from "
     "the leader, 2 those to it, 3 all)",
     Who::kServer,
     [](Scene& s, const Move& m) {
       s.model().Stall(static_cast<int>(m.who), m.which % 2 != 0, m.which / 2 % 2 != 0, s.now());
     },
     nullptr, In(0, 1, 2, 3), 4},
    {kPingGap, "ping_gap", "the leader pings every % ms", Who::kNone,
     [](Scene& s, const Move& m) { s.SetPingGap(absl::Milliseconds(std::max(m.which, 1u))); },
     nullptr, In(0, 1, 1, 1)},
    {kLoseTouches, "lose_touches", "followers lose every second touch of a session: %", Who::kNone,
     [](Scene& s, const Move& m) { s.model().set_loses_touches(m.which != 0); }, nullptr,
     In(0, 1, 1, 1), 2},
    {kOperator, "operator", "an operator deletes node % of the queue", Who::kNone,
     [](Scene& s, const Move& m) { s.OperatorDeletes(m.which); },
     [](Scene& s, const Move& m) { return m.which < s.history_.nodes().size(); }, In(0, 1, 0, 0)},
    {kReap, "reap", "empty containers are reaped", Who::kNone,
     [](Scene& s, const Move&) { s.model().ReapContainers(s.now()); }, nullptr, In(1, 1, 0, 0)},
};

const MoveRow& RowOf(MoveKind kind) { return Scene::kMoves[static_cast<size_t>(kind)]; }

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
    const auto row = std::find_if(std::begin(Scene::kMoves), std::end(Scene::kMoves),
                                  [&](const MoveRow& r) { return r.name == words[0]; });
    Move move;
    if (row == std::end(Scene::kMoves) || words.size() > 3) return std::nullopt;
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
