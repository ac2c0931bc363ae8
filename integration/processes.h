// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_PROCESSES_H_
#define ZKRECIPES_INTEGRATION_PROCESSES_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace zkrecipes::integration {

// What /proc says about processes, for tests that look whether something is left.

// The TCP addresses where a process listens: "127.0.0.1:2181"; one of IPv6 as "[<hex>]:<port>".
std::vector<std::string> ListeningAddressesOf(pid_t pid);

// How many processes of a process group are alive; zombies that nobody has reaped do not count.
int LiveProcessesIn(pid_t group);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_PROCESSES_H_
