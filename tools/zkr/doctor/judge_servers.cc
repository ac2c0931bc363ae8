// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tools/zkr/doctor/finding.h"
#include "tools/zkr/doctor/timeouts.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

using enum Finding::Kind;

Finding OfServer(const ServerFacts& server, const std::string& serving) {
  const std::string about = Printable(server.name);
  if (!server.reachable) {
    return {kFinding, "server-unreachable", about,
            absl::StrCat("does not answer: ", server.trouble),
            absl::StrCat("start it, or take it off the list; ", serving)};
  }
  return {
      kFinding, "server-refuses-sessions", about,
      absl::StrCat("answers, but grants no session: ", server.trouble),
      absl::StrCat("look into its log, and at its connections to the other servers; ", serving)};
}

// The servers by what they say about one thing, where they say it; "" where they all say the same.
template <typename Say>
std::string Differences(const Facts& facts, Say say) {
  std::map<std::string, std::vector<std::string>> names;
  for (const ServerFacts& server : facts.servers) {
    const std::string said = say(server);
    if (!said.empty()) names[said].push_back(server.name);
  }
  if (names.size() < 2) return "";
  return absl::StrJoin(names, "; ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, Printable(entry.first), " (", NameSome(entry.second), ")");
  });
}

std::string SettingsOf(const ServerFacts& server) {
  const ServerWords& words = server.words;
  if (!words.tick) return "";
  return absl::StrCat("tickTime ", Short(*words.tick), ", initLimit ", words.init_limit.value_or(0),
                      ", syncLimit ", words.sync_limit.value_or(0));
}

std::string GrantsOf(const ServerFacts& server) {
  if (!server.grants) return "";
  return absl::StrCat(Short(server.grants->least), " to ", Short(server.grants->longest));
}

// A server that stands alone is an ensemble, and so is each leader with its followers.
Findings OfEnsembles(const Facts& facts) {
  std::set<std::string> serving, alone, leading;  // by address: a server may be in the list twice
  for (const ServerFacts& server : facts.servers) {
    if (!server.words.mode) continue;
    serving.insert(server.address);
    if (server.words.mode == "standalone") alone.insert(server.address);
    if (server.words.mode == "leader") leading.insert(server.address);
  }
  if (leading.size() < 2 && (alone.empty() || serving.size() < 2)) return {};
  return {{kFinding, "several-ensembles", "servers",
           "the list has servers of more than one ensemble: a lock has an owner in each of them",
           "name the servers of one ensemble only; if its leader has just changed, look again"}};
}

// Voters that the leader misses. Those of the list that do not serve are told of anyway.
Findings OfVoters(const Facts& facts, std::ptrdiff_t not_serving) {
  for (const ServerFacts& server : facts.servers) {
    const ServerWords& words = server.words;
    if (!words.voters || !words.in_sync) continue;
    const int missing = *words.voters - *words.in_sync;
    if (missing <= not_serving) return {};
    return {
        {kFinding, "voters-missing", Printable(server.name),
         absl::StrCat("the leader sees only ", *words.in_sync, " of ", *words.voters,
                      " voters in sync; without ", *words.voters / 2 + 1, " no lock is granted"),
         "start the others, and wait until they have caught up"}};
  }
  return {};
}

}  // namespace

Findings JudgeServers(const Facts& facts) {
  Findings found = OfEnsembles(facts);
  const auto good = std::count_if(facts.servers.begin(), facts.servers.end(),
                                  [](const ServerFacts& s) { return s.grants.has_value(); });
  const std::string serving = absl::StrCat(good, " of ", facts.servers.size(), " listed serve");
  for (const ServerFacts& server : facts.servers) {
    if (!server.grants) found.push_back(OfServer(server, serving));
    if (server.words.mode == "observer") {
      found.push_back(
          {kNote, "observer", Printable(server.name),
           "is an observer; a lease can be believed there only if it follows the leader itself",
           "set no observerMasterPort in the ensemble (docs/lease.md)"});
    }
  }
  const Findings voters = OfVoters(facts, static_cast<std::ptrdiff_t>(facts.servers.size()) - good);
  found.insert(found.end(), voters.begin(), voters.end());
  if (const auto differences = Differences(facts, GrantsOf); !differences.empty()) {
    found.push_back(
        {kFinding, "timeouts-differ", "servers",
         absl::StrCat("they grant different session timeouts: ", differences,
                      "; a lease may be believed for too long (docs/lease.md, \"One T\")"),
         "give all servers one tickTime, minSessionTimeout and maxSessionTimeout"});
  }
  if (const auto differences = Differences(facts, SettingsOf); !differences.empty()) {
    found.push_back({kFinding, "settings-differ", "servers",
                     absl::StrCat("they are configured differently: ", differences),
                     "give all servers one tickTime, initLimit and syncLimit"});
  }
  const auto versions =
      Differences(facts, [](const ServerFacts& s) { return s.words.version.value_or(""); });
  if (!versions.empty()) {
    found.push_back({kNote, "versions-differ", "servers",
                     absl::StrCat("they run different versions: ", versions), ""});
  }
  return found;
}

}  // namespace zkrecipes::zkr::doctor
