// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "tools/zkr/doctor/collect.h"

namespace zkrecipes::zkr::doctor {
namespace {

// A longer tick, or more of them, is no setting but noise.
constexpr int kHighest = 1 << 30;

// The rest of the line that begins with `key`.
std::optional<std::string> ValueOf(absl::string_view answer, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(answer, '\n')) {
    if (absl::ConsumePrefix(&line, key)) return std::string(absl::StripAsciiWhitespace(line));
  }
  return std::nullopt;
}

std::optional<int> NumberOf(absl::string_view answer, absl::string_view key) {
  int number = 0;
  const auto text = ValueOf(answer, key);
  // A server's answer is a stranger's text: what is no plausible number stays unknown.
  if (!text || !absl::SimpleAtoi(*text, &number) || number <= 0 || number > kHighest) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

void ReadSrvr(absl::string_view answer, ServerWords& words) {
  std::int64_t zxid = 0;
  const auto text = ValueOf(answer, "Zxid: ");
  if (text && absl::SimpleHexAtoi(*text, &zxid) && zxid >= 0) words.zxid = zxid;
  if (const auto mode = ValueOf(answer, "Mode: ")) words.mode = absl::AsciiStrToLower(*mode);
}

void ReadConf(absl::string_view answer, ServerWords& words) {
  if (const auto tick = NumberOf(answer, "tickTime=")) words.tick = absl::Milliseconds(*tick);
  words.sync_limit = NumberOf(answer, "syncLimit=");
}

void ReadMntr(absl::string_view answer, ServerWords& words) {
  words.voters = NumberOf(answer, "zk_quorum_size\t");
  // It does not count itself.
  const auto followers = ValueOf(answer, "zk_synced_followers\t");
  int number = 0;
  if (followers && absl::SimpleAtoi(*followers, &number) && number >= 0 && number < kHighest) {
    words.in_sync = number + 1;
  }
}

namespace {

// The digits behind `key` in a line of cons.
std::optional<std::int64_t> FieldOf(absl::string_view line, absl::string_view key) {
  const std::size_t at = line.find(key);
  if (at == absl::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  const absl::string_view digits = line.substr(0, line.find_first_of(",)"));
  std::int64_t number = 0;
  std::uint64_t session = 0;
  // Times and timeouts are decimal, sessions hexadecimal with 0x.
  if (absl::SimpleAtoi(digits, &number)) return number;
  if (!absl::SimpleHexAtoi(digits, &session)) return std::nullopt;
  return static_cast<std::int64_t>(session);
}

}  // namespace

std::optional<Connections> ReadCons(absl::string_view answer, std::int64_t own_session) {
  Connections found;
  std::map<std::int64_t, std::int64_t> answered_ms;
  for (absl::string_view line : absl::StrSplit(answer, '\n')) {
    const auto session = FieldOf(line, ",sid=");
    const auto answered = FieldOf(line, ",lresp=");
    if (!session || !answered) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    absl::ConsumePrefix(&line, "/");
    answered_ms[*session] = *answered;
    found[*session] = {std::string(line.substr(0, line.find("]("))),
                       absl::Milliseconds(FieldOf(line, ",to=").value_or(0)),
                       {}};
    std::string& from = found[*session].from;
    from = from.substr(0, from.rfind('['));
  }
  // Without a session that was answered just now the server's clock is not known, nor how long ago
  // a time is.
  if (!answered_ms.contains(own_session)) return std::nullopt;
  for (auto& [session, connection] : found) {
    const std::int64_t ago = answered_ms[own_session] - answered_ms[session];
    connection.silent = std::max(absl::ZeroDuration(), absl::Milliseconds(ago));
  }
  return found;
}

bool ServesNobody(absl::string_view answer) {
  return absl::StrContains(answer, "not currently serving requests");
}

}  // namespace zkrecipes::zkr::doctor
