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

}  // namespace zkrecipes::verification

#endif  // ZKRECIPES_VERIFICATION_PARTITIONS_MEMBER_H_
