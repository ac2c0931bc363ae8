// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "lib/base/one_shot.h"
#include "lib/zk/loop/resolver.h"
#include "testing/local/quorum.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(1);

// One server on its way to its facts.
struct Probe {
  std::string host = {};  // the name in its certificate; empty if it is listed by its address
  ServerFacts facts;
  absl::StatusOr<std::shared_ptr<Client>> client = absl::UnavailableError("its name is unknown");
};

std::string Ask(const Probe& probe, const std::string& word) {
  return testing::FourLetterWord(probe.facts.address, word, kPatience).value_or("");
}

void Connect(commands::GlobalFlags flags, Probe& probe) {
  // The address alone, so that the session cannot be with another server.
  std::string& servers = flags.client.servers;
  servers = probe.facts.address + servers.substr(std::min(servers.find('/'), servers.size()));
  flags.quiet = true;  // the report says what does not answer
  if (auto& tls = flags.client.tls; tls && tls->server_name.empty()) tls->server_name = probe.host;
  probe.client = commands::Connect(flags, {}, kPatience);
  if (probe.client.ok()) probe.facts.granted = (*probe.client)->session_timeout();
}

void AskWords(Probe& probe, const std::string& srvr) {
  ServerFacts& facts = probe.facts;
  // One that is closed to a word says so, which reads as nothing.
  facts.words = WordsIn(absl::StrCat(srvr, "\n", Ask(probe, "conf"), "\n", Ask(probe, "mntr")));
  // The session has just been answered, and shows in cons what the server's clock says now.
  if (probe.client.ok()) {
    facts.connections = ReadCons(Ask(probe, "cons"), (*probe.client)->session_id());
  }
}

void Examine(const commands::GlobalFlags& flags, Probe& probe) {
  ServerFacts& facts = probe.facts;
  if (facts.address.empty()) return;
  // Four letter words do not go through TLS.
  const bool tls = flags.client.tls.has_value();
  absl::StatusOr<std::string> srvr = absl::UnknownError("not asked");
  if (!tls) srvr = testing::FourLetterWord(facts.address, "srvr", kPatience);
  if (absl::IsDeadlineExceeded(srvr.status())) {  // silent: nothing else would be answered
    facts.trouble = absl::StrCat("nothing comes within ", absl::FormatDuration(kPatience));
    return;
  }
  Connect(flags, probe);
  // A server may be closed to srvr and still serve.
  facts.reachable = srvr.ok() || probe.client.ok();
  if (srvr.ok()) AskWords(probe, *srvr);
  if (probe.client.ok()) return;
  const bool out_of_quorum =
      srvr.ok() && absl::StrContains(*srvr, "not currently serving requests");
  const absl::Status why = srvr.ok() || tls ? probe.client.status() : srvr.status();
  facts.trouble = out_of_quorum ? "it is not in the quorum" : std::string(why.message());
}

// The server once for each of its addresses, or once with the reason why it has none.
std::vector<Probe> Resolved(const zk::ServerAddress& server) {
  const std::string name = zk::NameOf(server);
  const auto shot = std::make_shared<base::OneShot<zk::ListedServer>>();
  zk::loop::SystemResolver()->Resolve(
      {server}, [shot](zk::ListedServer answer) { shot->Set(std::move(answer)); });
  // A resolver that hangs is left behind: its answer comes to an object that it keeps alive itself.
  const auto answer = shot->Take(base::BootNow() + kPatience);
  Probe unknown{.facts = {.name = name}};
  unknown.facts.trouble = answer ? absl::StrCat("its name could not be resolved: ", answer->error)
                                 : "its name is not resolved in time";
  if (!answer || answer->addresses.empty()) return {std::move(unknown)};
  std::vector<Probe> probes;
  // Two names of one server may be listed; one name's addresses are taken once each.
  const std::set<std::string> addresses(answer->addresses.begin(), answer->addresses.end());
  for (const std::string& address : addresses) {
    const bool one = addresses.size() == 1;
    const std::string full = one ? name : absl::StrCat(name, " (", address, ")");
    probes.push_back(
        {.host = address == name ? "" : server.host, .facts = {.name = full, .address = address}});
  }
  return probes;
}

// On a thread for each, as far as there are threads.
template <typename T, typename Do>
void ForEachAtOnce(std::vector<T>& all, Do act) {
  std::vector<std::jthread> threads;
  for (T& one : all) {
    try {
      threads.emplace_back([&one, &act] { act(one); });
    } catch (const std::system_error&) {
      act(one);
    }
  }
}

}  // namespace

std::vector<ServerFacts> OfOneFamily(std::vector<ServerFacts> of_a_name) {
  const auto is_v6 = [](const ServerFacts& server) { return server.address.starts_with('['); };
  const auto v6 = std::ranges::count_if(of_a_name, is_v6);
  if (v6 == 0 || v6 == std::ssize(of_a_name)) return of_a_name;
  std::ptrdiff_t more = 0;  // of IPv6 addresses than of IPv4 ones
  for (const ServerFacts& server : of_a_name) {
    if (server.granted) more += is_v6(server) ? 1 : -1;
  }
  std::erase_if(of_a_name, [&](const ServerFacts& server) { return is_v6(server) != (more > 0); });
  return of_a_name;
}

absl::StatusOr<Clients> ProbeServers(const commands::GlobalFlags& flags, const zk::ServerList& list,
                                     Facts& facts) {
  std::vector<std::pair<zk::ServerAddress, std::vector<Probe>>> resolved;
  // Names first: only then is the number of servers known.
  for (const zk::ServerAddress& server : list.servers) resolved.push_back({server, {}});
  ForEachAtOnce(resolved, [](auto& one) { one.second = Resolved(one.first); });
  std::vector<Probe*> probes;
  for (auto& [server, found] : resolved) {
    for (Probe& probe : found) probes.push_back(&probe);
  }
  ForEachAtOnce(probes, [&flags](Probe* probe) { Examine(flags, *probe); });
  Clients granting, kept;
  for (auto& [server, found] : resolved) {
    std::vector<ServerFacts> of_a_name;
    for (Probe& probe : found) {
      if (absl::IsInvalidArgument(probe.client.status())) return probe.client.status();
      if (probe.client.ok()) granting[probe.facts.name] = *probe.client;
      of_a_name.push_back(std::move(probe.facts));
    }
    for (ServerFacts& one : OfOneFamily(std::move(of_a_name))) {
      kept.insert(granting.extract(one.name));
      facts.servers.push_back(std::move(one));
    }
  }
  return kept;
}

// ---- What servers say ---------------------------------------------------------------------------

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

std::optional<int> NumberOf(absl::string_view answer, absl::string_view key, int least = 1) {
  int number = 0;
  const auto text = ValueOf(answer, key);
  // A server's answer is a stranger's text: what is no plausible number stays unknown.
  const bool number_is_good = text && absl::SimpleAtoi(*text, &number) && number >= least;
  return number_is_good && number <= kHighest ? std::optional(number) : std::nullopt;
}

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

ServerWords WordsIn(absl::string_view answers) {
  ServerWords words;
  std::int64_t zxid = 0;
  const auto text = ValueOf(answers, "Zxid: ");
  if (text && absl::SimpleHexAtoi(*text, &zxid) && zxid >= 0) words.zxid = zxid;
  if (const auto mode = ValueOf(answers, "Mode: ")) words.mode = absl::AsciiStrToLower(*mode);
  if (const auto tick = NumberOf(answers, "tickTime=")) words.tick = absl::Milliseconds(*tick);
  words.sync_limit = NumberOf(answers, "syncLimit=");
  words.voters = NumberOf(answers, "zk_quorum_size\t");
  // It does not count itself.
  const auto followers = NumberOf(answers, "zk_synced_followers\t", /*least=*/0);
  if (followers) words.in_sync = *followers + 1;
  return words;
}

std::optional<Connections> ReadCons(absl::string_view answer, std::int64_t own_session) {
  Connections found;
  for (absl::string_view line : absl::StrSplit(answer, '\n')) {
    const auto session = FieldOf(line, ",sid=");
    const auto answered = FieldOf(line, ",lresp=");
    if (!session || !answered) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    absl::ConsumePrefix(&line, "/");
    const absl::string_view from = line.substr(0, line.find("]("));
    found[*session] = {std::string(from.substr(0, from.rfind('['))),
                       absl::Milliseconds(FieldOf(line, ",to=").value_or(0)),
                       absl::Milliseconds(*answered)};
  }
  // Without a session that was answered just now the server's clock is not known, nor how long ago
  // a time is.
  const auto own = found.find(own_session);
  if (own == found.end()) return std::nullopt;
  const absl::Duration now = own->second.silent;
  for (auto& [session, connection] : found) {
    connection.silent = std::max(absl::ZeroDuration(), now - connection.silent);
  }
  return found;
}

}  // namespace zkrecipes::zkr::doctor
