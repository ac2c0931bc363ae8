// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/history_file.h"

#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace zkrecipes::history {

absl::StatusOr<History> ReadHistory(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  History history;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (file.eof()) {
      history.cut_off = std::move(line);
      break;
    }
    absl::StatusOr<Event> event = FromLine(line);
    if (!event.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", number, ": ", std::string(event.status().message())));
    }
    history.events.push_back(*std::move(event));
  }
  return history;
}

}  // namespace zkrecipes::history
