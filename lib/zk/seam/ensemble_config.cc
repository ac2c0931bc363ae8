// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/ensemble_config.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace zkrecipes::zk::inline seam {
namespace {

constexpr size_t kMostMembers = 255;  // ZooKeeper's own limit
constexpr size_t kShown = 100;        // of a line, in a message

// The host at the beginning, with its brackets if it has any; "" if no port follows.
absl::string_view HostOf(absl::string_view text) {
  const size_t bracket = absl::StartsWith(text, "[") ? text.find(']') : 0;
  if (bracket == absl::string_view::npos) return "";
  const size_t colon = text.find(':', bracket);
  return colon == absl::string_view::npos ? "" : text.substr(0, colon);
}

bool StandsForAll(absl::string_view host) {
  return host.empty() || host == "0.0.0.0" || host == "[::]" || host == "[0:0:0:0:0:0:0:0]";
}

// "zk1:2888:3888:participant;0.0.0.0:2181". The list of none or one server; or what is wrong.
absl::StatusOr<std::vector<ServerAddress>> ParseMember(absl::string_view value) {
  // Newer servers may add a third part, for clients with TLS.
  const std::vector<absl::string_view> parts = absl::StrSplit(value, ';');
  const absl::string_view member = HostOf(parts[0]);  // of its first address, if it has several
  if (member.empty()) return absl::InvalidArgumentError("needs \"host:port:port\"");
  if (parts.size() < 2 || parts[1].empty()) return std::vector<ServerAddress>();
  const absl::string_view client_host = HostOf(parts[1]);
  absl::string_view port = parts[1];
  if (!client_host.empty()) port.remove_prefix(client_host.size() + 1);
  const absl::string_view host = StandsForAll(client_host) ? member : client_host;
  auto list = ParseServerList(absl::StrCat(host, ":", port));
  if (!list.ok()) return list.status();
  if (list->servers.size() == 1 && list->namespace_root.empty()) return std::move(list->servers);
  return absl::InvalidArgumentError("is more than one server");
}

absl::Status WrongLine(absl::string_view line, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("line \"",
                                                 absl::CHexEscape(line.substr(0, kShown)), "\" of ",
                                                 kEnsembleConfigPath, ": ", why));
}

}  // namespace

absl::StatusOr<EnsembleConfig> ParseEnsembleConfig(const std::string& text) {
  EnsembleConfig config;
  for (absl::string_view untrimmed : absl::StrSplit(text, '\n')) {
    const absl::string_view line = absl::StripAsciiWhitespace(untrimmed);
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "version=")) {
      const bool digits =
          !rest.empty() && std::all_of(rest.begin(), rest.end(), absl::ascii_isxdigit);
      if (!digits || !absl::SimpleHexAtoi(rest, &config.version)) {
        return WrongLine(line, "a version is a hexadecimal number of 64 bits");
      }
    }
    if (!absl::ConsumePrefix(&rest, "server.")) continue;
    const size_t equals = rest.find('=');
    const absl::string_view id = rest.substr(0, equals);
    if (equals == absl::string_view::npos || id.empty() ||
        !std::all_of(id.begin(), id.end(), absl::ascii_isdigit)) {
      return WrongLine(line, "needs a number and \"=\"");
    }
    auto member = ParseMember(rest.substr(equals + 1));
    if (!member.ok()) return WrongLine(line, member.status().message());
    config.servers.insert(config.servers.end(), member->begin(), member->end());
    if (config.servers.size() > kMostMembers) return WrongLine(line, "more than 255 servers");
  }
  return config;
}

}  // namespace zkrecipes::zk::inline seam
