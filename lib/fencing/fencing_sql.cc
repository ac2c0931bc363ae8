// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/fencing_sql.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "zkrecipes/fencing/fencing_floor.h"

namespace zkrecipes {
namespace {

constexpr char kSchema[] =
#include "lib/fencing/fencing.sql.h"
    ;

// On no floor at all: whether it is a pass.
absl::Status Check(const FencingPass& pass) { return FencingFloor().Admit(pass); }

// Of an SQLSTATE, whose first two characters are its class.
absl::StatusCode CodeOf(absl::string_view state) {
  if (state == "ZKR01" || state == "ZKR02") return absl::StatusCode::kFailedPrecondition;
  if (state == "42501") return absl::StatusCode::kPermissionDenied;
  // 25006: a standby. 55P03: a lock was not to be had in lock_timeout. 25P03, 25P04: a timeout has
  // ended the connection. 40003: not known whether the statement was done.
  for (const absl::string_view unable : {"25006", "55P03", "25P03", "25P04", "40003"}) {
    if (state == unable) return absl::StatusCode::kUnavailable;
  }
  const absl::string_view kind = state.substr(0, 2);
  if (kind == "40" || state == "25P02") return absl::StatusCode::kAborted;
  for (const absl::string_view unable : {"", "08", "53", "57", "58", "XX"}) {
    if (kind == unable) return absl::StatusCode::kUnavailable;
  }
  return absl::StatusCode::kInvalidArgument;
}

}  // namespace

absl::StatusOr<FencedClauses> FenceClauses(const FencingPass& pass, const std::string& alias) {
  if (absl::Status status = Check(pass); !status.ok()) return status;
  // Text, not parameters: tokens and epochs are numbers, and the statement around is the caller's.
  const std::string row = alias.empty() ? "" : alias + ".";
  const std::string same = absl::StrCat(row, "fence_epoch = ", pass.epoch);
  const std::string newer = absl::StrCat(row, "fence_epoch < ", pass.epoch);
  const std::string token = pass.token.ToString();
  // The epoch last: in MySQL the assignments before would see the new one.
  const std::string set_epoch = absl::StrCat(", fence_epoch = ", pass.epoch);
  if (pass.mode == GrantMode::kShared) {
    return FencedClauses{
        absl::StrCat("fence = CASE WHEN ", same, " THEN ", row,
                     "fence ELSE 0 END, fence_shared = CASE WHEN ", same, " AND ", row,
                     "fence_shared > ", token, " THEN ", row, "fence_shared ELSE ", token, " END",
                     set_epoch),
        absl::StrCat("(", newer, " OR (", same, " AND ", row, "fence <= ", token, "))")};
  }
  // Without a turn the column of turns is neither read nor written, so that a table may lack it.
  // What an earlier token left there is of no account: one token is a CachedLock's, shown with
  // turns, or it has none; and a higher one does not look at it.
  const std::string set_turn = pass.turn == 0 ? "" : absl::StrCat(", fence_turn = ", pass.turn);
  const std::string not_later =
      pass.turn == 0 ? absl::StrCat(row, "fence <= ", token)
                     : absl::StrCat("(", row, "fence < ", token, " OR (", row, "fence = ", token,
                                    " AND ", row, "fence_turn <= ", pass.turn, "))");
  return FencedClauses{absl::StrCat("fence = ", token, set_turn, ", fence_shared = CASE WHEN ",
                                    same, " THEN ", row, "fence_shared ELSE 0 END", set_epoch),
                       absl::StrCat("(", newer, " OR (", same, " AND ", not_later, " AND ", row,
                                    "fence_shared <= ", token, "))")};
}

std::string FencingSchema() { return kSchema; }

absl::StatusOr<std::string> FencingArguments(const FencingPass& pass) {
  if (absl::Status status = Check(pass); !status.ok()) return status;
  // A turn of 0 is the default, which a schema from before the turns does without.
  return absl::StrCat(pass.epoch, ", ", pass.token.ToString(), ", ",
                      pass.mode == GrantMode::kShared ? "true" : "false",
                      pass.turn == 0 ? "" : absl::StrCat(", ", pass.turn));
}

absl::Status SqlStateStatus(const std::string& sqlstate, const std::string& message) {
  // Our own refusal: its text is made for the caller.
  if (sqlstate == "ZKR01") return absl::FailedPreconditionError(message);
  return absl::Status(CodeOf(sqlstate),
                      absl::StrCat("PostgreSQL: ", message, sqlstate.empty() ? "" : " (", sqlstate,
                                   sqlstate.empty() ? "" : ")"));
}

}  // namespace zkrecipes
