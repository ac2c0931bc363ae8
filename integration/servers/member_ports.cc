// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/member_ports.h"

#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "testing/local/server_files.h"

namespace zkrecipes::faults {

// "server.2=127.0.0.1:20001:20002"
MemberPorts MemberPortsOf(const std::string& directory, int i) {
  std::ifstream config(testing::ServerDirectory(directory, i + 1) + "/zoo.cfg");
  const std::string its = absl::StrCat("server.", i + 1, "=");
  for (std::string line; std::getline(config, line);) {
    if (!absl::StartsWith(line, its)) continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ':');
    return {.quorum = std::stoi(parts.at(1)), .election = std::stoi(parts.at(2))};
  }
  return {};
}

}  // namespace zkrecipes::faults
