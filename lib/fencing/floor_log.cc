// SPDX-License-Identifier: Apache-2.0

#include "lib/fencing/floor_log.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/fencing/check_sum.h"

namespace zkrecipes::internal {
namespace {

constexpr char kIsFloor = 1;
constexpr char kIsForgotten = 2;
constexpr size_t kFrame = 8;  // length and check sum
constexpr size_t kNumbers = 24;
constexpr size_t kLongestBody = 1 + kNumbers + kLongestFloorKey;

template <typename T>
std::string Number(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  return bytes;
}

template <typename T>
T NumberAt(absl::string_view text, size_t at) {
  uint64_t value = 0;
  for (size_t i = sizeof(T); i-- > 0;) value = value << 8 | static_cast<uint8_t>(text[at + i]);
  return static_cast<T>(value);
}

std::string Framed(const std::string& body) {
  return absl::StrCat(Number(static_cast<uint32_t>(body.size())), Number(CheckSum(body)), body);
}

// The body of the record at the beginning of `rest`; empty if it is not whole.
absl::string_view BodyOf(absl::string_view rest) {
  if (rest.size() < kFrame) return {};
  const size_t length = NumberAt<uint32_t>(rest, 0);
  if (length > rest.size() - kFrame) return {};
  const absl::string_view body = rest.substr(kFrame, length);
  return CheckSum(body) == NumberAt<uint32_t>(rest, 4) ? body : absl::string_view();
}

bool Take(absl::string_view body, FloorLog& log) {
  const char kind = body[0];
  if (kind == kIsForgotten) {
    log.floors.erase(std::string(body.substr(1)));
    return true;
  }
  if (kind != kIsFloor || body.size() < 1 + kNumbers) return false;
  FencingFloor& floor = log.floors[std::string(body.substr(1 + kNumbers))];
  floor.epoch = NumberAt<int64_t>(body, 1);
  floor.exclusive = FencingToken(NumberAt<int64_t>(body, 9));
  floor.shared = FencingToken(NumberAt<int64_t>(body, 17));
  return true;
}

// Of a record that is not whole: a crash leaves the last one like this. Where its length was not
// written, the file is zero there.
bool MayBeTheLast(absl::string_view rest) {
  if (rest.size() < kFrame) return true;
  const size_t length = NumberAt<uint32_t>(rest, 0);
  if (length == 0) return rest.size() <= kFrame + kLongestBody;
  return length <= kLongestBody && rest.size() <= kFrame + length;
}

// What a crash leaves of a file that is just being made: a part of the header, with zeros behind it where the
// file's length was on the disk before its bytes. No record was written yet.
bool MayBeTheBeginning(absl::string_view text, absl::string_view header) {
  if (text.size() > header.size() || text == header) return false;
  const size_t written = std::min(text.find('\0'), text.size());
  return absl::StartsWith(header, text.substr(0, written)) &&
         text.find_first_not_of('\0', written) == absl::string_view::npos;
}

}  // namespace

std::string FloorRecord(const std::string& key, const FencingFloor& floor) {
  return Framed(absl::StrCat(std::string(1, kIsFloor), Number(floor.epoch),
                             Number(floor.exclusive.value()), Number(floor.shared.value()), key));
}

std::string ForgottenRecord(const std::string& key) {
  return Framed(absl::StrCat(std::string(1, kIsForgotten), key));
}

absl::StatusOr<FloorLog> ReadFloorLog(absl::string_view text) {
  FloorLog log;
  const absl::string_view header = kFloorLogHeader;
  if (MayBeTheBeginning(text, header)) return log;
  if (!absl::StartsWith(text, header)) return absl::DataLossError("it is not a file of floors");
  log.end = header.size();
  while (log.end < text.size()) {
    const absl::string_view rest = text.substr(log.end);
    const absl::string_view body = BodyOf(rest);
    if (body.empty() && MayBeTheLast(rest)) break;
    if (body.empty() || !Take(body, log)) {
      return absl::DataLossError(absl::StrCat("it is damaged at byte ", log.end));
    }
    ++log.records;
    log.end += kFrame + body.size();
  }
  return log;
}

}  // namespace zkrecipes::internal
