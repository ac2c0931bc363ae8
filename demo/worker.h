// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_DEMO_WORKER_H_
#define ZKRECIPES_DEMO_WORKER_H_

#include <string>

namespace demo {

// A process that takes the lock again and again, and writes to the ledger while it holds it. It
// talks to the demo over its stdin and stdout, a line each:
//
//   -> "grant TOKEN"       it holds the lock
//   -> "write TOKEN"       a write for the ledger        <- "accepted" or "stale"
//   -> "lost TOKEN"        it has learnt that its lease is lost
//   -> "release TOKEN"     the node is gone
//
// It deliberately does not look at Lease::state() before it writes: the ledger must cope with that.
// Ends when its stdin does.
int RunWorker(const std::string& servers, const std::string& path);

}  // namespace demo

#endif  // ZKRECIPES_DEMO_WORKER_H_
