// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RESOURCE_CLIENT_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RESOURCE_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"

#include "lib/base/mutex.h"
#include "lib/base/one_shot.h"
#include "verification/checker/event.h"

namespace zkrecipes::history {

// The worker's way to the resource (see ResourceServer). Thread-safe.
class ResourceClient {
 public:
  explicit ResourceClient(int to) : to_(to) {}

  // Blocks until the write is judged. nullopt once Close was called: what the resource did is not known.
  // REQUIRES: no other write of its attempt is under way.
  std::optional<Event> Write(const Event& write);

  void OnAnswer(const std::string& line);
  void Close();  // there will be no more answers

 private:
  using Answer = std::optional<Event>;

  const int to_;
  base::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // By attempt.
  std::map<int64_t, std::shared_ptr<base::OneShot<Answer>>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RESOURCE_CLIENT_H_
