// SPDX-License-Identifier: Apache-2.0

#include "integration/four_letter_answers.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace zkrecipes::integration {
namespace {

int64_t Decimal(absl::string_view text) {
  int64_t value = 0;
  return absl::SimpleAtoi(text, &value) ? value : 0;
}

uint64_t Hexadecimal(absl::string_view text) {
  uint64_t value = 0;
  return absl::SimpleHexAtoi(text, &value) ? value : 0;
}

void SetField(absl::string_view key, absl::string_view value, ConnectionStats& stats) {
  if (key == "recved") stats.received = Decimal(value);
  if (key == "sent") stats.sent = Decimal(value);
  if (key == "sid") stats.session = Hexadecimal(value);
  if (key == "lcxid") stats.last_cxid = static_cast<int64_t>(Hexadecimal(value));
  if (key == "lop") stats.last_operation = std::string(value);
}

}  // namespace

// " /127.0.0.1:42074[1](queued=0,recved=12,sent=12,sid=0x1000,lop=GETD,...,lcxid=0xb,...)"
std::vector<ConnectionStats> ParseConnections(const std::string& cons) {
  std::vector<ConnectionStats> all;
  for (absl::string_view line : absl::StrSplit(cons, '\n')) {
    const size_t open = line.find('(');
    if (open == absl::string_view::npos || !absl::ConsumeSuffix(&line, ")")) continue;
    ConnectionStats& stats = all.emplace_back();
    for (absl::string_view field : absl::StrSplit(line.substr(open + 1), ',')) {
      const std::pair<absl::string_view, absl::string_view> pair =
          absl::StrSplit(field, absl::MaxSplits('=', 1));
      SetField(pair.first, pair.second, stats);
    }
  }
  return all;
}

// "zk_packets_received\t17"
std::map<std::string, std::string> ParseMonitor(const std::string& mntr) {
  std::map<std::string, std::string> values;
  for (absl::string_view line : absl::StrSplit(mntr, '\n', absl::SkipEmpty())) {
    values.insert(absl::StrSplit(line, absl::MaxSplits('\t', 1)));
  }
  return values;
}

}  // namespace zkrecipes::integration
