// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/end_status.h"

#include "absl/strings/str_cat.h"

namespace zkrecipes::queue {

absl::Status EndStatus(const action::Finished& finished, const std::string& path,
                       const std::string& server_path) {
  const std::string what = absl::StrCat("acquire ", path, ": ");
  switch (finished.outcome) {
    case Outcome::kNodeDeleted:
      return absl::AbortedError(
          absl::StrCat(what, "another client deleted this contender's node while it was queued"));
    case Outcome::kRefused:
      return zk::ToStatus(finished.code, absl::StrCat("acquire: ", finished.what), finished.path);
    case Outcome::kExhausted:
      return absl::ResourceExhaustedError(absl::StrCat(
          what, "the path's sequence numbers are nearly used up: delete and re-create the node ",
          server_path, " while no client queues there"));
    case Outcome::kFollowedLost:
      return absl::AbortedError(absl::StrCat(what, "the lease that it was to follow is over"));
    case Outcome::kWriterQueued:
      return absl::FailedPreconditionError(absl::StrCat(
          what, "another writer is queued: release the shared lease and queue behind it"));
    case Outcome::kForeignOwner:
      return absl::InternalError(
          absl::StrCat(what, "the server gave this contender's node to another session"));
    case Outcome::kLost:
      return absl::AbortedError(absl::StrCat("release ", path, ": the lease had been lost"));
    default:
      return absl::FailedPreconditionError(absl::StrCat(what, "the client is closed"));
  }
}

}  // namespace zkrecipes::queue
