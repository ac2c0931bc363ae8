// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_STREAM_FIXTURE_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_STREAM_FIXTURE_H_

#include <unistd.h>

#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

// While it lives, `end` is this process's `stream`: STDOUT_FILENO or STDERR_FILENO.
class StreamIs {
 public:
  StreamIs(int stream, const base::UniqueFd& end) : stream_(stream), before_(dup(stream)) {
    dup2(end.get(), stream);
  }
  ~StreamIs() { dup2(before_.get(), stream_); }
  StreamIs(const StreamIs&) = delete;
  StreamIs& operator=(const StreamIs&) = delete;

 private:
  const int stream_;
  const base::UniqueFd before_;
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_STREAM_FIXTURE_H_
