// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_MEMBER_FILES_H_
#define ZKRECIPES_INTEGRATION_SERVERS_MEMBER_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace zkrecipes::servers {

// Writes a script for LocalEnsembleOptions::java, in `directory`, and returns its path. It knows the
// members by the directories they run in: `settings` are a member's shell assignments
// ("proxy=1080"), `run` are the lines that follow for all and end in an exec of Java's (kJava "$@").
absl::StatusOr<std::string> WriteMemberJava(const std::string& directory,
                                            const std::vector<std::string>& settings,
                                            const std::string& run);

inline constexpr char kJava[] = "/usr/bin/java";

// Where a member listens for the others: followers connect to `quorum`, votes go to `election`.
struct MemberPorts {
  int quorum = 0;
  int election = 0;
};

// Of member `i` of a LocalEnsemble, whose directory this is. Zeros if its configuration cannot be read.
MemberPorts MemberPortsOf(const std::string& directory, int i);

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_MEMBER_FILES_H_
