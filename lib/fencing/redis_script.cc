// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/fencing/redis_script.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "zkrecipes/fencing/fencing_floor.h"

namespace zkrecipes {
namespace {

constexpr char kScript[] =
#include "lib/fencing/fencing.lua.h"
    ;
// RedisTest.KnowsItsScriptByItsHash says if it is out of date.
constexpr char kScriptHash[] = "e79a278108aca6a7a399e01f3dfa04c67472dcaf";

absl::Status Stale(const std::vector<std::string>& floor, const RedisCommand& command,
                   const FencingPass& pass) {
  FencingFloor seen;
  int64_t exclusive = 0, shared = 0;
  const std::vector<std::string> pair = absl::StrSplit(floor.size() == 3 ? floor[1] : "", ':');
  if (absl::SimpleAtoi(pair[0], &exclusive) && absl::SimpleAtoi(floor[0], &seen.epoch) &&
      absl::SimpleAtoi(floor[2], &shared) &&
      (pair.size() == 1 || (pair.size() == 2 && absl::SimpleAtoi(pair[1], &seen.turn)))) {
    seen.exclusive = FencingToken(exclusive);
    seen.shared = FencingToken(shared);
    // The rule once more, for its message.
    if (absl::Status status = seen.Admit(pass); !status.ok()) return status;
  }
  // Somebody else wrote it: it may be no numbers.
  return absl::FailedPreconditionError(command.floor + " is not a floor: no pass is admitted");
}

}  // namespace

std::string FencingScript() { return kScript; }
std::string FencingScriptHash() { return kScriptHash; }

absl::StatusOr<std::vector<std::string>> FencedWords(const std::string& eval,
                                                     const RedisCommand& command,
                                                     const FencingPass& pass,
                                                     const std::string& tag) {
  if (command.floor.empty() || command.command.empty()) {
    return absl::InvalidArgumentError("no floor or no command is named");
  }
  // On no floor at all: whether it is a pass.
  if (absl::Status status = FencingFloor().Admit(pass); !status.ok()) return status;
  // In the order of the script's KEYS and ARGV.
  std::vector<std::string> words = {eval, eval == "EVALSHA" ? kScriptHash : kScript,
                                    absl::StrCat(command.keys.size() + 1), command.floor};
  words.insert(words.end(), command.keys.begin(), command.keys.end());
  words.push_back(absl::StrCat(pass.epoch));
  words.push_back(pass.token.ToString() + (pass.turn == 0 ? "" : absl::StrCat(":", pass.turn)));
  words.push_back(pass.mode == GrantMode::kShared ? "1" : "0");
  words.push_back(tag);
  words.insert(words.end(), command.command.begin(), command.command.end());
  return words;
}

absl::Status FencedVerdict(int64_t verdict, const std::vector<std::string>& texts,
                           const RedisCommand& command, const FencingPass& pass) {
  const std::string text = texts.empty() ? "" : texts[0];
  switch (verdict) {
    case 0:
      return Stale(texts, command, pass);
    case 1:
      return absl::OkStatus();
    case 2:
      return absl::OutOfRangeError(absl::StrCat("Redis: the command was run; its answer, about ",
                                                text, ", is not exact in a script"));
    case 3:
      return RedisErrorStatus(text);
    default:
      return absl::InvalidArgumentError("Redis: " + text);
  }
}

absl::Status RedisErrorStatus(const std::string& error) {
  const std::string message = absl::StrCat("Redis: ", error);
  // Whole words: BUSYGROUP and BUSYKEY refuse a command, BUSY does not. Redis 5 and 6 put a place
  // in the script before the error of a call in it, and a '-'.
  const auto is = [&error](const std::string& kind) {
    const std::string words = kind + " ";
    return absl::StartsWith(error, words) || absl::StrContains(error, ": -" + words);
  };
  for (const char* kind : {"NOPERM", "NOAUTH", "WRONGPASS"}) {
    if (is(kind)) return absl::PermissionDeniedError(message);
  }
  // The last one is how a server greets whom it has no room for.
  for (const char* kind :
       {"LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "OOM", "BUSY", "MISCONF", "TRYAGAIN",
        "CLUSTERDOWN", "MOVED", "ASK", "UNKILLABLE", "ERR max number of clients"}) {
    if (is(kind)) return absl::UnavailableError(message);
  }
  return absl::InvalidArgumentError(message);
}

}  // namespace zkrecipes
