// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/member_java.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace zkrecipes::faults {

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

}  // namespace zkrecipes::faults
