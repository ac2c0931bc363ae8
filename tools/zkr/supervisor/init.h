// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INIT_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INIT_H_

namespace zkrecipes::zkr::supervisor {

// For PID 1 of a container, whose duty it is to reap every orphan there: returns in a child process,
// which does zkr's work, while this one reaps, passes on the signals that it gets, and ends as that
// child does (128 + n if it died of signal n). For any other process: returns at once.
// REQUIRES: this process has no other thread yet.
void BeInitIfFirst();

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_INIT_H_
