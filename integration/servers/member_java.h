// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_MEMBER_JAVA_H_
#define ZKRECIPES_INTEGRATION_SERVERS_MEMBER_JAVA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace zkrecipes::faults {

// Writes a script for LocalEnsembleOptions::java, in `directory`, and returns its path. It knows the
// members by the directories they run in: `settings` are a member's shell assignments
// ("proxy=1080"), `run` are the lines that follow for all and end in an exec of Java's (kJava "$@").
absl::StatusOr<std::string> WriteMemberJava(const std::string& directory,
                                            const std::vector<std::string>& settings,
                                            const std::string& run);

inline constexpr char kJava[] = "/usr/bin/java";

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_INTEGRATION_SERVERS_MEMBER_JAVA_H_
