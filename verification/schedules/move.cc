// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/move.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::explore::schedules {
namespace {

struct Word {
  MoveKind kind;
  const char* name;
  const char* story;  // # is `who`, % is `which`
};

constexpr Word kWords[] = {
    {MoveKind::kTask, "task", "process # runs a task"},
    {MoveKind::kDeliver, "deliver", "process # reads what its server sent"},
    {MoveKind::kTimer, "timer", "process # runs a timer"},
    {MoveKind::kCallback, "callback", "process # runs callback %"},
    {MoveKind::kExecute, "execute", "the server of process # reads its next request"},
    {MoveKind::kExecuteOrphan, "execute_orphan",
     "a server reads on from connection # that its client has given up"},
    {MoveKind::kCommit, "commit", "the quorum commits the oldest proposal"},
    {MoveKind::kApply, "apply", "server # applies the next transaction"},
    {MoveKind::kCloseDue, "close_due", "the leader closes a session whose time is over"},
    {MoveKind::kAdvance, "advance", "time goes on to the next deadline"},
    {MoveKind::kAcquire, "acquire", "slot # asks for the lock"},
    {MoveKind::kAcquireBriefly, "acquire_briefly", "slot # asks for the lock for two seconds"},
    {MoveKind::kTry, "try", "slot # tries the lock"},
    {MoveKind::kCancel, "cancel", "slot # cancels its wait"},
    {MoveKind::kRelease, "release", "slot # drops its lease"},
    {MoveKind::kGoUpOrDown, "go_up_or_down", "slot # goes on to write, or to read"},
    {MoveKind::kCloseClient, "close_client", "process # closes its client and opens another one"},
    {MoveKind::kBreak, "break", "the connection of process # breaks"},
    {MoveKind::kDropOrphan, "drop_orphan",
     "a server notices that connection # is gone, and reads no more from it"},
    {MoveKind::kExpire, "expire", "the ensemble expires the session of process #"},
    {MoveKind::kForget, "forget",
     "what is under way is answered, but the leader hears no more of process #, until it ends its "
     "session"},
    {MoveKind::kTooLate, "too_late",
     "the time of process #'s session is over; what was on its way arrives and is answered, then "
     "the "
     "leader ends it"},
    {MoveKind::kNetwork, "network",
     "the network of process # is % (0 up, 1 down, 2 deaf, 3 silent)"},
    {MoveKind::kPause, "pause", "process # stands still: %"},
    {MoveKind::kMoveTo, "move_to", "process # can reach server % only"},
    {MoveKind::kRate, "rate",
     "the clock of process # runs at % thousandths of the ensemble's rate"},
    {MoveKind::kWait, "wait", "% ms go by in which nobody does anything"},
    {MoveKind::kGoOn, "go_on", "% ms go by in which everybody goes on"},
    {MoveKind::kElect, "elect", "server # is elected, % proposals survive"},
    {MoveKind::kCutOff, "cut_off", "server # is cut off from the others"},
    {MoveKind::kHeal, "heal", "server # is back with the others"},
    {MoveKind::kStall, "stall",
     "between server # and the leader messages wait on their way: % (0 not any more, 1 those from "
     "the leader, 2 those to it, 3 all)"},
    {MoveKind::kPingGap, "ping_gap", "the leader pings every % ms"},
    {MoveKind::kLoseTouches, "lose_touches", "followers lose every second touch of a session: %"},
    {MoveKind::kOperator, "operator", "an operator deletes node % of the queue"},
    {MoveKind::kReap, "reap", "empty containers are reaped"},
};

const Word& WordOf(MoveKind kind) {
  for (const Word& word : kWords) {
    if (word.kind == kind) return word;
  }
  return kWords[0];
}

std::optional<Move> ParseMove(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  Move move;
  if (parts.size() > 1 && !absl::SimpleAtoi(parts[1], &move.who)) return std::nullopt;
  if (parts.size() > 2 && !absl::SimpleAtoi(parts[2], &move.which)) return std::nullopt;
  for (const Word& word : kWords) {
    move.kind = word.kind;
    if (parts[0] == word.name && parts.size() <= 3) return move;
  }
  return std::nullopt;
}

}  // namespace

std::string ToString(const Move& move) {
  const char* name = WordOf(move.kind).name;
  if (move.which != 0) return absl::StrCat(name, ":", move.who, ":", move.which);
  if (move.who != 0) return absl::StrCat(name, ":", move.who);
  return name;
}

std::string ToString(const std::vector<Move>& moves) {
  return absl::StrJoin(
      moves, " ", [](std::string* out, const Move& move) { absl::StrAppend(out, ToString(move)); });
}

std::optional<std::vector<Move>> ParseMoves(const std::string& text) {
  std::vector<Move> moves;
  for (const absl::string_view part : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::optional<Move> move = ParseMove(part);
    if (!move.has_value()) return std::nullopt;
    moves.push_back(*move);
  }
  return moves;
}

std::string Describe(const Move& move) {
  return absl::StrReplaceAll(WordOf(move.kind).story,
                             {{"#", absl::StrCat(move.who)}, {"%", absl::StrCat(move.which)}});
}

}  // namespace zkrecipes::explore::schedules
