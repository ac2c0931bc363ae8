// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_PARTITIONS_MEMBER_H_
#define ZKRECIPES_VERIFICATION_PARTITIONS_MEMBER_H_

#include <string>

namespace zkrecipes::verification {

inline constexpr int kPartitions = 16;

// A member until SIGTERM. Tells on stdout, a line for each: `WHAT NANOSECONDS PARTITION`, by
// CLOCK_BOOTTIME, where WHAT is
//   own     its work has begun
//   work    at that moment it believed that it owns the partition; ten times a second
//   asked   its work was asked to end
//   lost    its lease has ended
//   gave    its work has returned
// Returns an exit status.
int RunMember(const std::string& id, const std::string& servers, double session_timeout);

// `each` members until SIGTERM, `process`-0 and so on, each with a client of its own. They tell, of
// the above, own and gave, with the member's name at the end of the line. At each SIGUSR1 another
// one stops, tells `left NANOSECONDS - MEMBER`, and starts again.
int RunMembers(const std::string& process, const std::string& servers, double session_timeout,
               int each, int partitions);

}  // namespace zkrecipes::verification

#endif  // ZKRECIPES_VERIFICATION_PARTITIONS_MEMBER_H_
