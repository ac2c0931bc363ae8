// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/member_files.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "testing/local/server_files.h"

namespace zkrecipes::servers {

absl::StatusOr<std::string> WriteMemberJava(const std::string& directory,
                                            const std::vector<std::string>& settings,
                                            const std::string& run) {
  const std::string path = directory + "/java";
  std::ofstream out(path);
  out << "#!/bin/sh\ncase ${PWD##*/} in\n";
  for (size_t i = 0; i < settings.size(); ++i) {
    out << "server" << i + 1 << ") " << settings[i] << " ;;\n";
  }
  out << "esac\n" << run << "\n";
  out.close();
  std::error_code error;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all, error);
  if (out && !error) return path;
  return absl::InternalError(absl::StrCat("cannot write ", path));
}

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

}  // namespace zkrecipes::servers
