// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_CONTEXT_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "verification/workload/recorder.h"
#include "verification/workload/worker/options.h"
#include "verification/workload/worker/resource_client.h"
#include "zkrecipes/client.h"

namespace zkrecipes::history {

// What the threads of one worker share.
struct Context {
  const WorkerOptions& options;
  std::shared_ptr<Client> client;
  Recorder& recorder;
  ResourceClient& resource;
  std::stop_token stop;
  std::atomic<int64_t> attempts = 0;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_CONTEXT_H_
