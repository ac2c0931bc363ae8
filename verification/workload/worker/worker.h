// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "verification/workload/recorder.h"
#include "verification/workload/resource.h"
#include "zkrecipes/client.h"

namespace zkrecipes::history {

struct WorkerOptions {
  std::string servers;
  std::string name;     // Event::who
  std::string history;  // a file that is not there yet
  std::string root = "/soak";
  int paths = 2;  // of each recipe: "/soak/lock-0", "/soak/lock-1", "/soak/read_write-0", ...
  // "strict" is a lock with a lock_delay of one session timeout.
  std::vector<std::string> recipes = {"lock", "strict", "read_write", "election"};
  int loops = 3;  // threads that take turns, on one client
  absl::Duration session_timeout = absl::Seconds(4);
  uint64_t seed = 1;
};

// What the threads of one worker share.
struct WorkerContext {
  const WorkerOptions& options;
  std::shared_ptr<Client> client;
  Recorder& recorder;
  ResourceClient& resource;
  std::stop_token stop;
  std::atomic<int64_t> attempts = 0;
};

// Takes turns until the context's `stop`: asks for some path in some way, writes to the resource while
// it holds it, gives it back in some way. Every choice depends on the seed.
void TakeTurns(WorkerContext& context, uint64_t seed);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_
