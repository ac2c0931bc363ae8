// SPDX-License-Identifier: Apache-2.0

#include "verification/timeline/judge.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"

#include "verification/checker/report.h"
#include "verification/checker/run_directory.h"
#include "verification/timeline/timeline.h"

namespace zkrecipes::history {

absl::StatusOr<Verdict> Judge(const std::string& directory, const std::string& timeline) {
  absl::StatusOr<RunRecords> run = ReadRunDirectory(directory);
  if (!run.ok()) return run.status();
  Verdict verdict = Check(run->events, run->transactions, run->limits);
  Print(verdict);
  std::ofstream file(timeline);
  file << Timeline(run->title, std::move(run->events), verdict);
  file.close();
  if (!file) return absl::InternalError(absl::StrCat("cannot write ", timeline));
  return verdict;
}

}  // namespace zkrecipes::history
