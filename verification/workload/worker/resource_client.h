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
#include "verification/workload/resource.h"

namespace zkrecipes::history {

// The worker's way to the resource: lines on a descriptor, and their answers. Thread-safe.
class ResourceClient {
 public:
  explicit ResourceClient(int to) : to_(to) {}

  // Blocks until it is answered. Nothing once Close was called: what the resource did is not known.
  std::optional<Resource::Verdict> Write(const std::string& path, Event::Mode mode, int64_t token);

  void OnLine(const std::string& line);  // an answer
  void Close();                          // there will be no more

 private:
  using Answer = std::optional<Resource::Verdict>;

  const int to_;
  base::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, std::shared_ptr<base::OneShot<Answer>>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_RESOURCE_CLIENT_H_
