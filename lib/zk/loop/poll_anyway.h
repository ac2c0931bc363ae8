// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_POLL_ANYWAY_H_
#define ZKRECIPES_LIB_ZK_LOOP_POLL_ANYWAY_H_

#include <poll.h>

#include <cstddef>
#include <vector>

namespace zkrecipes::zk::loop {

// poll(), though it fails: the process may have fewer descriptors by now than it is asked about,
// the kernel no memory, or the program has closed some of the first `own`, which are the loop's.
// Then each is asked about alone, after a pause, so that this does not spin.
int PollAnyway(std::vector<pollfd>& polls, size_t own, int timeout);

// In place of a wait that fails at once. At most `timeout` milliseconds; -1: no bound.
void PauseBriefly(int timeout = -1);

// A call on one of the loop's own descriptors has failed with `error`: tells on stderr, once, if
// the program has closed it.
void TellIfClosed(int error);

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_POLL_ANYWAY_H_
