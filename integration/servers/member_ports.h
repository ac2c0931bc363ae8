// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_MEMBER_PORTS_H_
#define ZKRECIPES_INTEGRATION_SERVERS_MEMBER_PORTS_H_

#include <string>

namespace zkrecipes::faults {

// Where a member listens for the others: followers connect to `quorum`, votes go to `election`.
struct MemberPorts {
  int quorum = 0;
  int election = 0;
};

// Of member `i` of a LocalEnsemble, whose directory this is. Zeros if its configuration cannot be read.
MemberPorts MemberPortsOf(const std::string& directory, int i);

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_INTEGRATION_SERVERS_MEMBER_PORTS_H_
