// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_

#include <cstdint>
#include <map>
#include <string>

#include "verification/checker/event.h"

namespace zkrecipes::history {

// What the locks guard, on its own side: it knows nothing of ZooKeeper, trusts nobody, and remembers
// for each path the largest tokens that it has admitted. An exclusive write is admitted if no write
// had a larger token; a shared one if no exclusive write had. Not thread-safe.
class Resource {
 public:
  struct Verdict {
    bool accepted = false;
    int64_t order = 0;  // counts the writes that were asked for, of all paths, from 1
  };

  Verdict Write(const std::string& path, Event::Mode mode, int64_t token);

  int64_t accepted() const { return accepted_; }
  int64_t refused() const { return asked_ - accepted_; }

 private:
  struct Largest {
    int64_t exclusive = 0;
    int64_t shared = 0;
  };

  std::map<std::string, Largest> largest_;  // by path
  int64_t asked_ = 0;
  int64_t accepted_ = 0;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_RESOURCE_H_
