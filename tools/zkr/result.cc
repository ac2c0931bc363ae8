// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/result.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace zkr {

Result ResultOf(const Outcome& outcome, std::int64_t token) {
  if (outcome.lost) return {"lost", kLost, token};
  switch (outcome.end) {
    case Outcome::End::kExited:
      return {"ran", outcome.code, token};
    case Outcome::End::kKilled:
      return {"ran", kSignalBase + outcome.code, token};
    case Outcome::End::kNotRun:
      break;
  }
  return {"usage", outcome.code == ENOENT ? kNotFound : kCannotRun, token};
}

Result ResultOf(const absl::Status& error, int conflict_status) {
  switch (const ExitCode code = ExitCodeFor(error)) {
    case kNotAcquired:
      return {"not_acquired", conflict_status};
    case kDenied:
      return {"denied", code};
    case kUsage:
      return {"usage", code};
    default:
      return {"unavailable", code};
  }
}

bool WriteResult(int fd, const Result& result) {
  nlohmann::ordered_json json = {{"result", result.word}, {"status", result.status}};
  json["token"] = nullptr;
  if (result.token != 0) json["token"] = result.token;
  const std::string line = json.dump() + "\n";
  return write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

int FindStatusFd(const std::vector<std::string>& words) {
  int fd = -1;
  for (std::size_t i = 0; i < words.size(); ++i) {
    absl::string_view text = words[i];
    const bool found = absl::ConsumePrefix(&text, "--status-fd");
    if (found && text.empty() && i + 1 < words.size()) text = words[i + 1];
    absl::ConsumePrefix(&text, "=");
    if (found && absl::SimpleAtoi(text, &fd) && fd >= 0) return fd;
  }
  return -1;
}

}  // namespace zkr
