// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_PARTITIONS_ROLLING_H_
#define ZKRECIPES_VERIFICATION_PARTITIONS_ROLLING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace zkrecipes::verification {

struct Fleet {
  int partitions = 1000;
  int processes = 10;
  int each = 5;                      // members of a process
  double session_timeout = 20;       // seconds: a machine that stands still costs no lease
  std::vector<std::string> program;  // of a process, in place of ours
  bool member_by_member = true;      // restart them so, too: by SIGUSR1
  int restarts = 10;                 // of processes
};

// Starts them all on three servers, and restarts them one after another; tells on stdout how long
// it takes until all have their share, and how often partitions move. Returns whether in the
// restart member by member each moved at most twice.
absl::StatusOr<bool> Roll(const Fleet& fleet);

}  // namespace zkrecipes::verification

#endif  // ZKRECIPES_VERIFICATION_PARTITIONS_ROLLING_H_
