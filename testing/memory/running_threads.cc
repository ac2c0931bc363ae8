// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/running_threads.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace zkrecipes::testing::memory {

bool AnotherThreadRuns() {
  const std::string self = std::to_string(gettid());
  std::error_code none;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none)) {
    if (thread.path().filename() == self) continue;
    // "7 (a name, perhaps with spaces) R ...": see proc(5)
    std::ifstream file(thread.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t name_ends = text.rfind(')');
    if (name_ends != std::string::npos && text.compare(name_ends, 3, ") R") == 0) return true;
  }
  return false;
}

}  // namespace zkrecipes::testing::memory
