// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/ask.h"

#include "absl/strings/str_cat.h"

#include "lib/session/client/client_options.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::acquire {

absl::Status CheckQuestion(const internal::ClientCore& core, const std::string& path,
                           const WaitOptions& wait) {
  for (const absl::Status& status :
       {zk::ValidatePath("path", path), session::client::CheckWaitOptions(wait),
        core.CheckMayBlock()}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status NotAnswered(const internal::ClientCore& core, const std::string& what,
                         const WaitOptions& wait, const std::string& trouble) {
  if (wait.cancel.stop_requested()) return absl::CancelledError(absl::StrCat(what, ": cancelled"));
  const std::string late =
      absl::StrCat(what, ": not answered within ", absl::FormatDuration(wait.timeout));
  if (const auto cut_off = core.CutOff()) {
    return absl::UnavailableError(absl::StrCat(late, ": ", *cut_off));
  }
  const std::string why = trouble.empty() ? "" : absl::StrCat(" (", trouble, ")");
  return absl::DeadlineExceededError(absl::StrCat(late, why));
}

}  // namespace zkrecipes::queue::acquire
