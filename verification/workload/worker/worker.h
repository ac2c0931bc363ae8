// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_

#include "verification/workload/worker/options.h"

namespace zkrecipes::history {

// A process that uses the library, and records what it sees of it. It asks the resource for leave to
// write on stdout, and is answered on stdin: see write_lines.h. Runs until SIGTERM, or the end of
// stdin; then it gives back what it holds, and closes its client. If that takes half a minute and
// two session timeouts it is killed by SIGALRM. Returns the exit status: 0, or 1 with a message on
// stderr.
int RunWorker(const WorkerOptions& options);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_WORKER_H_
