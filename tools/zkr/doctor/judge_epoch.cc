// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "absl/strings/str_cat.h"

#include "lib/session/epoch_record.h"
#include "tools/zkr/doctor/finding.h"

namespace zkrecipes::zkr::doctor {
namespace {

using enum Finding::Kind;

Finding SetBack(const FencingPass& seen, const std::string& now) {
  return {kFinding, "set-back", "ensemble",
          absl::StrCat(now,
                       ": it was set back to an older state, so that tokens repeat, and "
                       "resources refuse new holders or admit old ones"),
          absl::StrCat("stop all that acquires locks, then: zkr epoch --raise --above ", seen.epoch,
                       " (docs/zkr.md, \"After a restore\")")};
}

}  // namespace

Findings JudgeEpoch(const Facts& facts) {
  if (!facts.epoch_trouble.empty()) {
    return {{kFinding, "epoch-unreadable", session::kEpochPath,
             absl::StrCat(facts.epoch_trouble, "; no lock is granted to such a client"),
             "let every client read it, and write a number into it: the highest epoch that any "
             "resource has seen, then `zkr epoch --raise`"}};
  }
  if (!facts.epoch || !facts.seen) return {};
  const FencingPass& seen = *facts.seen;
  if (*facts.epoch > seen.epoch) return {};  // raised since
  if (*facts.epoch < seen.epoch) {
    return {SetBack(seen, absl::StrCat("a resource has seen epoch ", seen.epoch,
                                       ", and the ensemble is at ", *facts.epoch))};
  }
  const auto zxid = HighestZxid(facts);
  if (!zxid) {
    return {{kNote, "zxid-unknown", "ensemble",
             absl::StrCat("whether it has come to token ", seen.token.ToString(),
                          " is not known: no server that grants sessions answers srvr"),
             ""}};
  }
  if (*zxid < seen.token.value()) {
    return {SetBack(seen, absl::StrCat("a resource has seen token ", seen.token.ToString(),
                                       ", and the ensemble has only come to zxid ", *zxid))};
  }
  return {{kNote, "token-passed", "ensemble",
           absl::StrCat("it has come to zxid ", *zxid, ", beyond token ", seen.token.ToString(),
                        ": that is so as well some time after it was set back"),
           "after a restore raise the epoch, whatever this says"}};
}

}  // namespace zkrecipes::zkr::doctor
