// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_log.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include "testing/local/read_file.h"

namespace zkrecipes::testing {

std::string TailOf(const std::string& path, int lines) {
  std::vector<std::string> all = absl::StrSplit(ReadFile(path), '\n', absl::SkipEmpty());
  std::erase_if(all, [](const std::string& line) { return absl::StartsWith(line, "\tat "); });
  const size_t skip = all.size() - std::min(all.size(), static_cast<size_t>(std::max(lines, 0)));
  return absl::StrJoin(all.begin() + static_cast<std::ptrdiff_t>(skip), all.end(), "\n");
}

bool LogSaysPortTaken(const ServerSpec& spec) {
  std::ifstream in(spec.LogPath());
  for (std::string line; std::getline(in, line);) {
    if (absl::StrContains(line, "java.net.BindException")) return true;
  }
  return false;
}

std::string LogForMessage(const ServerSpec& spec) {
  const std::string tail = TailOf(spec.LogPath(), 15);
  return tail.empty() ? "" : absl::StrCat(" Last lines of ", spec.LogPath(), ":\n", tail);
}

}  // namespace zkrecipes::testing
