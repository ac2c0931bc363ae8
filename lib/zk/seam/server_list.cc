// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/server_list.h"

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

#include "lib/zk/seam/path.h"

namespace zkrecipes::zk::inline seam {
namespace {

constexpr uint16_t kDefaultPort = 2181;

// One part of the list, split in two. No port: none was written, not even its colon.
struct Part {
  absl::string_view host;
  bool bracketed = false;
  bool has_port = false;
  absl::string_view port;
};

absl::Status Broken(absl::string_view rule) { return absl::InvalidArgumentError(rule); }

absl::StatusOr<Part> CutBracketed(absl::string_view text) {
  const size_t end = text.find(']');
  if (end == absl::string_view::npos) return Broken("'[' without ']'");
  Part part;
  part.bracketed = true;
  part.host = text.substr(1, end - 1);
  const absl::string_view rest = text.substr(end + 1);
  if (rest.empty()) return part;
  if (rest[0] != ':') return Broken("only \":port\" may follow ']'");
  part.has_port = true;
  part.port = rest.substr(1);
  return part;
}

absl::StatusOr<Part> Cut(absl::string_view text) {
  if (text[0] == '[') return CutBracketed(text);
  const size_t colon = text.find(':');
  Part part;
  part.host = text.substr(0, colon);
  if (colon == absl::string_view::npos) return part;
  if (text.find(':', colon + 1) != absl::string_view::npos) {
    return Broken("more than one ':' (an IPv6 address goes in brackets, \"[::1]:2181\")");
  }
  part.has_port = true;
  part.port = text.substr(colon + 1);
  return part;
}

absl::StatusOr<uint16_t> ParsePort(const Part& part) {
  if (!part.has_port) return kDefaultPort;
  if (part.port.empty()) return Broken("the port number is missing after ':'");
  // SimpleAtoi alone would take a sign and blanks.
  const bool digits = std::ranges::all_of(part.port, absl::ascii_isdigit);
  uint32_t port = 0;
  if (!digits || !absl::SimpleAtoi(part.port, &port) || port < 1 || port > 65535) {
    return Broken("the port must be a number from 1 to 65535");
  }
  return static_cast<uint16_t>(port);
}

bool IsHostCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
}

bool IsIpv6Character(char c) {
  // After a '%' comes the name of an interface.
  return IsHostCharacter(c) || c == ':' || c == '%';
}

absl::Status CheckHost(const Part& part) {
  if (part.host.empty()) return Broken("the host is missing");
  // No host has such a name, and to OpenSSL it would stand for all names below.
  if (part.host[0] == '.') return Broken("a host must not begin with '.'");
  if (!part.bracketed) {
    // Anything else would only fail later, in a lookup whose message does not name the list.
    if (std::ranges::all_of(part.host, IsHostCharacter)) return absl::OkStatus();
    return Broken("a host has only letters, digits, '.', '-' and '_'");
  }
  const bool has_colon = part.host.find(':') != absl::string_view::npos;
  if (has_colon && std::ranges::all_of(part.host, IsIpv6Character)) {
    return absl::OkStatus();
  }
  return Broken("brackets are for an IPv6 address");
}

absl::StatusOr<ServerAddress> ParseServer(absl::string_view text) {
  if (text.empty()) return Broken("must not be blank");
  absl::StatusOr<Part> part = Cut(text);
  if (!part.ok()) return part.status();
  if (absl::Status host = CheckHost(*part); !host.ok()) return host;
  absl::StatusOr<uint16_t> port = ParsePort(*part);
  if (!port.ok()) return port.status();
  return ServerAddress{std::string(part->host), *port};
}

absl::Status CheckNamespace(const std::string& root) {
  if (root.empty()) return absl::OkStatus();
  // ZooKeeper would accept the comma, but a user who writes one means "zk1:2181/app,zk2:2181/app".
  if (absl::StrContains(root, ',')) {
    return Broken(absl::StrCat("namespace \"", absl::Utf8SafeCEscape(root),
                               "\": stands once, after the last server, and has no comma"));
  }
  return ValidatePath("namespace", root);
}

absl::Status InList(absl::string_view list, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("server list \"", absl::Utf8SafeCEscape(list), "\": ", what));
}

}  // namespace

absl::StatusOr<ServerList> ParseServerList(const std::string& text) {
  const absl::string_view all = absl::StripAsciiWhitespace(text);
  const size_t slash = std::min(all.find('/'), all.size());
  const absl::string_view hosts = absl::StripAsciiWhitespace(all.substr(0, slash));
  if (hosts.empty()) return InList(text, "must name at least one server, \"host:port\"");
  ServerList list;
  int position = 0;
  for (absl::string_view untrimmed : absl::StrSplit(hosts, ',')) {
    const absl::string_view part = absl::StripAsciiWhitespace(untrimmed);
    ++position;
    absl::StatusOr<ServerAddress> server = ParseServer(part);
    if (!server.ok()) {
      return InList(text, absl::StrCat("part ", position, " \"", absl::Utf8SafeCEscape(part),
                                       "\": ", server.status().message()));
    }
    list.servers.push_back(*std::move(server));
  }
  // As in ZooKeeper's own clients a lone slash stands for the whole tree.
  list.namespace_root = std::string(all.substr(slash));
  if (list.namespace_root == "/") list.namespace_root.clear();
  const absl::Status valid = CheckNamespace(list.namespace_root);
  if (!valid.ok()) return InList(text, valid.message());
  return list;
}

// ---- the ensemble's own list -------------------------------------------------------------------

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
  // An address that stands for all is no address to connect to.
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
      const bool digits = !rest.empty() && std::ranges::all_of(rest, absl::ascii_isxdigit);
      if (!digits || !absl::SimpleHexAtoi(rest, &config.version)) {
        return WrongLine(line, "a version is a hexadecimal number of 64 bits");
      }
    }
    if (!absl::ConsumePrefix(&rest, "server.")) continue;
    const size_t equals = rest.find('=');
    const absl::string_view id = rest.substr(0, equals);
    if (equals == absl::string_view::npos || id.empty() ||
        !std::ranges::all_of(id, absl::ascii_isdigit)) {
      return WrongLine(line, "needs a number and \"=\"");
    }
    auto member = ParseMember(rest.substr(equals + 1));
    // A member that is left out in silence could be the only one that is alive: so a line that is
    // not understood spoils the whole.
    if (!member.ok()) return WrongLine(line, member.status().message());
    config.servers.insert(config.servers.end(), member->begin(), member->end());
    if (config.servers.size() > kMostMembers) return WrongLine(line, "more than 255 servers");
  }
  return config;
}

std::string NameOf(const ServerAddress& server) {
  const bool v6 = server.host.find(':') != std::string::npos;
  return absl::StrCat(v6 ? "[" : "", server.host, v6 ? "]:" : ":", server.port);
}

}  // namespace zkrecipes::zk::inline seam
