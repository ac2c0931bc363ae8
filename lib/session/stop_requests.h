// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_STOP_REQUESTS_H_
#define ZKRECIPES_LIB_SESSION_STOP_REQUESTS_H_

#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "lib/base/mutex.h"
#include "zkrecipes/executor.h"

namespace zkrecipes::session {

// Requests stop of leases' ended() on the executor: what users registered with the tokens runs
// there. The requests that come while a Batch is open are one task, however many. A second task
// follows to stand by: should a callback block, that one goes on with the rest. So a task more is
// needed for each callback that blocks, and none for those that do not. Thread-safe; does not block
// on a callback.
class StopRequests {
 public:
  explicit StopRequests(std::shared_ptr<Executor> executor) : executor_(std::move(executor)) {}

  void Add(std::stop_source source);

  class Batch {
   public:
    explicit Batch(StopRequests& requests);
    ~Batch();  // hands over what has come
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    StopRequests& requests_;
  };

 private:
  const std::shared_ptr<Executor> executor_;
  base::Mutex mutex_;
  int batches_ ABSL_GUARDED_BY(mutex_) = 0;  // that are open
  std::vector<std::stop_source> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_STOP_REQUESTS_H_
