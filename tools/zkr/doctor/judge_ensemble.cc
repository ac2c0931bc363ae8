// SPDX-License-Identifier: Apache-2.0
//
// The servers by themselves, the epoch, the sessions: whatever is not about one path.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/session/epoch_record.h"
#include "lib/session/path_budget.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/finding.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

using enum Finding::Kind;

Finding OfServer(const ServerFacts& server, const std::string& serving) {
  const std::string about = Printable(server.name);
  // Dead, cut off or silent cannot be told apart from here: `trouble` says what was seen.
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
    // A server that does not say is no difference.
    if (!said.empty()) names[said].push_back(server.name);
  }
  if (names.size() < 2) return "";
  return absl::StrJoin(names, "; ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, Printable(entry.first), " (", NameSome(entry.second), ")");
  });
}

std::string SettingsText(const ServerFacts& server) {
  // conf gives all three or none.
  const ServerWords& words = server.words;
  if (!words.tick) return "";
  return absl::StrCat("tickTime ", Short(*words.tick), ", initLimit ", words.init_limit.value_or(0),
                      ", syncLimit ", words.sync_limit.value_or(0));
}

std::string GrantsText(const ServerFacts& server) {
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
  // Followers that follow different leaders cannot be told apart: only what leads or stands alone
  // counts.
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
    // Those are findings of their own.
    if (missing <= not_serving) return {};
    return {
        {kFinding, "voters-missing", Printable(server.name),
         absl::StrCat("the leader sees only ", *words.in_sync, " of ", *words.voters,
                      " voters in sync; without ", *words.voters / 2 + 1, " no lock is granted"),
         "start the others, and wait until they have caught up"}};
  }
  return {};
}

Finding SetBack(const FencingPass& seen, const std::string& now) {
  return {kFinding, "set-back", "ensemble",
          absl::StrCat(now,
                       ": it was set back to an older state, so that tokens repeat, and "
                       "resources refuse new holders or admit old ones"),
          absl::StrCat("stop all that acquires locks, then: zkr epoch --raise --above ", seen.epoch,
                       " (docs/zkr.md, \"After a restore\")")};
}

constexpr std::int64_t kMuch = session::PathBudget::kLimit / 4 * 3;

void JudgeBudgets(const ServerFacts& server, Findings& found) {
  if (!server.ephemeral_bytes) return;
  for (const auto& [session, bytes] : *server.ephemeral_bytes) {
    // At the limit acquires fail, which is late to learn of it.
    if (bytes < kMuch) continue;
    found.push_back(
        {kFinding, "session-near-budget", "session " + SessionText(session),
         absl::StrCat("the paths of its ephemeral nodes have ", bytes / 1024, " KiB; at ",
                      session::PathBudget::kLimit / 1024,
                      " KiB zkrecipes refuses further acquires (ResourceExhausted, 73), and "
                      "servers cannot load a database in which a session of far more has ended"),
         "spread its locks over several clients or sessions, or shorten their paths"});
  }
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
  // One T for all: a lease is believed by the timeout that was granted where the session began.
  if (const auto differences = Differences(facts, GrantsText); !differences.empty()) {
    found.push_back(
        {kFinding, "timeouts-differ", "servers",
         absl::StrCat("they grant different session timeouts: ", differences,
                      "; a lease may be believed for too long (docs/lease.md, \"One T\")"),
         "give all servers one tickTime, minSessionTimeout and maxSessionTimeout"});
  }
  if (const auto differences = Differences(facts, SettingsText); !differences.empty()) {
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

Findings JudgeEpoch(const Facts& facts) {
  if (!facts.epoch_trouble.empty()) {
    return {{kFinding, "epoch-unreadable", session::kEpochPath,
             absl::StrCat(facts.epoch_trouble, "; no lock is granted to such a client"),
             "let every client read it, and write a number into it: the highest epoch that any "
             "resource has seen, then `zkr epoch --raise`"}};
  }
  if (!facts.epoch || !facts.seen) return {};
  const FencingPass& seen = *facts.seen;
  if (*facts.epoch > seen.epoch) return {};  // raised since
  // The record itself was restored: an epoch never goes down otherwise.
  if (*facts.epoch < seen.epoch) {
    return {SetBack(seen, absl::StrCat("a resource has seen epoch ", seen.epoch,
                                       ", and the ensemble is at ", *facts.epoch))};
  }
  // Tokens are zxids: an ensemble that has not come to a token that was seen has forgotten it.
  const auto zxid = HighestZxid(facts);
  // Without srvr from a server that serves there is nothing to compare the token with.
  if (!zxid) {
    return {{kNote, "zxid-unknown", "ensemble",
             absl::StrCat("whether it has come to token ", seen.token.ToString(),
                          " is not known: no server that grants sessions answers srvr"),
             ""}};
  }
  if (*zxid < seen.token.value()) {
    return {SetBack(seen, absl::StrCat("a resource has seen token ", seen.token.ToString(),
                                       ", and the ensemble has only come to zxid ", *zxid))};
  }
  return {{kNote, "token-passed", "ensemble",
           absl::StrCat("it has come to zxid ", *zxid, ", beyond token ", seen.token.ToString(),
                        ": that is so as well some time after it was set back"),
           "after a restore raise the epoch, whatever this says"}};
}

Findings JudgeSessions(const Facts& facts) {
  Findings found;
  for (const ServerFacts& server : facts.servers) JudgeBudgets(server, found);
  for (const Disagreement& d : facts.disagreements) {
    found.push_back(
        {kFinding, "servers-disagree", Printable(d.missing_at),
         absl::StrCat("does not show ", Printable(d.node), ", which ", Printable(d.shown_by),
                      " shows, though it has applied later writes: two clients may each be told "
                      "that they are first"),
         "stop all that acquires locks; stop the server that differs from the leader, remove its "
         "data directory's version-2, and start it again (docs/adr/0021)"});
  }
  return found;
}

}  // namespace zkrecipes::zkr::doctor
