// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/call/ask.h"

#include "absl/strings/str_cat.h"

namespace zkrecipes::queue::call {

absl::Status NotAnswered(const internal::ClientCore& core, const std::string& what,
                         absl::Duration timeout, bool cancelled, const std::string& trouble) {
  if (cancelled) return absl::CancelledError(absl::StrCat(what, ": cancelled"));
  const std::string late =
      absl::StrCat(what, ": not answered within ", absl::FormatDuration(timeout));
  // The ensemble was not reached, so it has not been asked at all.
  if (const auto cut_off = core.CutOff()) {
    return absl::UnavailableError(absl::StrCat(late, ": ", *cut_off));
  }
  const std::string why = trouble.empty() ? "" : absl::StrCat(" (", trouble, ")");
  return absl::DeadlineExceededError(absl::StrCat(late, why));
}

}  // namespace zkrecipes::queue::call
