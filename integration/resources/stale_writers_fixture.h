// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RESOURCES_STALE_WRITERS_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_RESOURCES_STALE_WRITERS_FIXTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace resources {

// Processes contend for one lock, and the holder writes to a store of each kind. Again and again
// the holder is stopped (SIGSTOP) at a random moment and for so long that its session ends; once
// another one holds the lock and has written to every store, it goes on, and writes on with its old
// pass.
struct StaleWritersOptions {
  std::string servers = {};  // ZooKeeper's
  std::string path = {};     // the lock's
  bool checked = true;       // the stores check the passes
  int stops = 1;             // how often a holder is stopped
  int writes = 50;           // to each store, each time, by the one that was stopped
  int writers = 3;
  uint64_t seed = 1;
};

// How a store met stale writes.
struct StaleWrites {
  int64_t refused = 0;
  int64_t admitted = 0;
  // How often an older holder's value was read where a newer one's had been.
  int64_t older_seen = 0;
};

// By the kind's name.
//   DeadlineExceeded  no holder, or none that went on, came about in time
//   Internal          a process or a store failed
absl::StatusOr<std::map<std::string, StaleWrites>> RunStaleWriters(
    const StaleWritersOptions& options);

void Print(const std::map<std::string, StaleWrites>& stores);

}  // namespace resources

#endif  // ZKRECIPES_INTEGRATION_RESOURCES_STALE_WRITERS_FIXTURE_H_
