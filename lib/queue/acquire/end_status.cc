// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/end_status.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/queue/machine/blind.h"

namespace zkrecipes::queue::acquire {
namespace {

constexpr size_t kNamed = 3;

// What strangers wrote is in names that ParseNodeName accepts, so nothing of it needs to be
// escaped.
std::string Blind(const std::vector<std::string>& names) {
  const size_t shown = std::min(kNamed, names.size());
  std::string text = absl::StrJoin(names.begin(), names.begin() + shown, ", ");
  if (names.size() > shown) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return absl::StrCat("refused beside ", text, ", of ", machine::MakerOf(names.front()),
                      ", which would not wait for this node, so that both would hold: ",
                      machine::RemedyFor(names.front()),
                      "; or set beside_blind (docs/interoperability.md)");
}

}  // namespace

absl::Status EndStatus(const machine::action::Finished& finished, const std::string& path,
                       const std::string& server_path) {
  const std::string what = absl::StrCat("acquire ", path, ": ");
  switch (finished.outcome) {
    case machine::Outcome::kNodeDeleted:
      return absl::AbortedError(
          absl::StrCat(what, "another client deleted this contender's node while it was queued"));
    case machine::Outcome::kRefused:
      return zk::ToStatus(finished.code, absl::StrCat("acquire: ", finished.what), finished.path);
    case machine::Outcome::kExhausted:
      return absl::ResourceExhaustedError(absl::StrCat(
          what, "the path's sequence numbers are nearly used up: delete and re-create the node ",
          server_path, " while no client queues there"));
    case machine::Outcome::kFollowedLost:
      return absl::AbortedError(absl::StrCat(what, "the lease that it was to follow is over"));
    case machine::Outcome::kWriterQueued:
      return absl::FailedPreconditionError(absl::StrCat(
          what, "another writer is queued: release the shared lease and queue behind it"));
    case machine::Outcome::kBlind:
      return absl::FailedPreconditionError(absl::StrCat(what, Blind(finished.blind)));
    case machine::Outcome::kForeignOwner:
      return absl::InternalError(
          absl::StrCat(what, "the server gave this contender's node to another session"));
    case machine::Outcome::kLost:
      return absl::AbortedError(absl::StrCat("release ", path, ": the lease had been lost"));
    // It was asked to leave before its user had an answer: only a client that closes does that. A
    // busy try is answered by Wait::AnswerBusy.
    case machine::Outcome::kNone:
    case machine::Outcome::kLeft:
    case machine::Outcome::kBusy:
      break;
  }
  return absl::FailedPreconditionError(absl::StrCat(what, "the client is closed"));
}

}  // namespace zkrecipes::queue::acquire
