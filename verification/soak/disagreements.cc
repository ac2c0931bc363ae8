// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "testing/local/read_file.h"
#include "verification/soak/run.h"

namespace zkrecipes::soak {

std::vector<std::string> Disagreements(const std::string& log) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    if (!absl::StrContains(line, "Digests are not matching")) continue;
    if (!absl::StrContains(line, "[main]")) lines.emplace_back(line);
  }
  return lines;
}

std::vector<std::string> DisagreementsIn(const std::string& directory) {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& server : std::filesystem::directory_iterator(directory, none)) {
    for (const std::string& line : Disagreements(testing::ReadFile(server.path() / "server.log"))) {
      all.push_back(absl::StrCat(server.path().filename().string(), ": ", line));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace zkrecipes::soak
