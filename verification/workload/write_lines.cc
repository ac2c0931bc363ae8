// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/write_lines.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace zkrecipes::history {
namespace {

constexpr char kExclusive[] = "exclusive";
constexpr char kShared[] = "shared";
constexpr char kAccepted[] = "accepted";
constexpr char kRefused[] = "refused";

using Words = std::vector<std::string>;

}  // namespace

std::string ToLine(const WriteRequest& request) {
  const char* mode = request.mode == Event::Mode::kShared ? kShared : kExclusive;
  return absl::StrCat("write ", request.id, " ", request.path, " ", mode, " ", request.token, "\n");
}

std::string ToLine(const WriteAnswer& answer) {
  const char* verdict = answer.verdict.accepted ? kAccepted : kRefused;
  return absl::StrCat(answer.id, " ", verdict, " ", answer.verdict.order, "\n");
}

std::optional<WriteRequest> ParseWriteRequest(const std::string& line) {
  const Words words = absl::StrSplit(line, ' ');
  if (words.size() != 5 || words[0] != "write") return std::nullopt;
  if (words[3] != kShared && words[3] != kExclusive) return std::nullopt;
  WriteRequest request;
  request.path = words[2];
  request.mode = words[3] == kShared ? Event::Mode::kShared : Event::Mode::kExclusive;
  const bool numbers =
      absl::SimpleAtoi(words[1], &request.id) && absl::SimpleAtoi(words[4], &request.token);
  return numbers ? std::optional(request) : std::nullopt;
}

std::optional<WriteAnswer> ParseWriteAnswer(const std::string& line) {
  const Words words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || (words[1] != kAccepted && words[1] != kRefused)) return std::nullopt;
  WriteAnswer answer;
  answer.verdict.accepted = words[1] == kAccepted;
  const bool numbers =
      absl::SimpleAtoi(words[0], &answer.id) && absl::SimpleAtoi(words[2], &answer.verdict.order);
  return numbers ? std::optional(answer) : std::nullopt;
}

std::vector<std::string> LineBuffer::Add(const char* data, size_t size) {
  rest_.append(data, size);
  std::vector<std::string> lines = absl::StrSplit(rest_, '\n');
  rest_ = lines.back();
  lines.pop_back();
  return lines;
}

}  // namespace zkrecipes::history
