// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_RUN_DIRECTORY_H_
#define ZKRECIPES_VERIFICATION_CHECKER_RUN_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "verification/checker/checker.h"

namespace zkrecipes::history {

// A history's events, in the order in which they were recorded. A last line that has no end is left
// out: its recorder was killed meanwhile.
//   NotFound         there is no such file, or it cannot be read
//   InvalidArgument  a line is no event; the message has the path, the line's number and what is
//                    wrong with it
absl::StatusOr<std::vector<Event>> ReadHistory(const std::string& path);

// All that is left of a run.
struct RunRecords {
  std::string title = "";
  std::vector<Event> events = {};
  std::vector<Transaction> transactions = {};
  Limits limits = {};
};

// Reads a run's directory:
//   *.jsonl, *.history   of each process, and of those that did something to them
//   run.json             as ToJson writes it; what it leaves out, or all if it is missing, is
//                        Limits' own
//   logs/M/log.*         the transaction logs of each member M; may be missing
// Blocks for as long as it takes to read them. Errors, with the path: NotFound (also if there is no
// history at all), InvalidArgument (also if there are logs, and run.json does not say how their
// time is to be read: wall_less_boot_ns) and DataLoss.
absl::StatusOr<RunRecords> ReadRunDirectory(const std::string& directory);

// For run.json: {"title": ..., "progress_ms": ..., "recovery_ms": ..., "wall_less_boot_ns": ...,
// "left": [...]}
std::string ToJson(const std::string& title, const Limits& limits);
//   InvalidArgument  no such object
absl::StatusOr<RunRecords> FromJson(const std::string& text);

// Internal: it cannot be written.
absl::Status WriteFile(const std::string& path, const std::string& text);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_RUN_DIRECTORY_H_
