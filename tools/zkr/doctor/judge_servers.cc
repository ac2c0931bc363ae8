// SPDX-License-Identifier: Apache-2.0
//
// The servers by themselves, the timeouts, the epoch, the sessions: whatever is not about one path.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/session/epoch_record.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

constexpr char kSession[] = "session timeout";
constexpr std::ptrdiff_t kMostNamed = 5;

Finding OfServer(const ServerFacts& server, const std::string& serving) {
  const std::string about = Printable(server.name);
  if (server.address.empty()) {
    return {kLikely, "server-unreachable", about, server.trouble,
            absl::StrCat("correct the name, or take it off the list; ", serving)};
  }
  if (!server.reachable) {
    return {
        kLikely, "server-unreachable", about,
        absl::StrCat("does not answer, be it dead, slow or cut off from here: ", server.trouble),
        absl::StrCat("start it, or take it off the list; ", serving)};
  }
  return {
      kCertain, "server-refuses-sessions", about,
      absl::StrCat("answers, but grants no session: ", server.trouble),
      absl::StrCat("look into its log, and at its connections to the other servers; ", serving)};
}

// A server that stands alone is an ensemble, and so is each leader with its followers.
void JudgeEnsembles(const Facts& facts, Findings& found) {
  std::set<std::string> serving, alone, leading;  // by address: a server may be in the list twice
  for (const ServerFacts& server : facts.servers) {
    if (!server.words.mode) continue;
    serving.insert(server.address);
    if (server.words.mode == "standalone") alone.insert(server.address);
    if (server.words.mode == "leader") leading.insert(server.address);
  }
  // Followers that follow different leaders cannot be told apart: only what leads or stands alone
  // counts.
  if (leading.size() < 2 && (alone.empty() || serving.size() < 2)) return;
  found.push_back(
      {alone.empty() ? kLikely : kCertain, "several-ensembles", "servers",
       "the list has servers of more than one ensemble, and a lock has an owner in each of them;"
       " two leaders are also seen for a moment when the leader changes",
       "trust no lock meanwhile; name the servers of one ensemble only; after an election run this"
       " again"});
}

// Voters that the leader misses. Those of the list that do not serve have findings of their own.
void JudgeVoters(const Facts& facts, std::ptrdiff_t not_serving, Findings& found) {
  for (const ServerFacts& server : facts.servers) {
    const ServerWords& words = server.words;
    if (!words.voters || !words.in_sync) continue;
    if (*words.voters - *words.in_sync <= not_serving) return;
    found.push_back(
        {kCertain, "voters-missing", Printable(server.name),
         absl::StrCat("the leader sees only ", *words.in_sync, " of ", *words.voters,
                      " voters in sync; without ", *words.voters / 2 + 1, " no lock is granted"),
         "start the others, and wait until they have caught up"});
    return;
  }
}

// One T for all: a lease is believed by the timeout that was granted where the session began.
void JudgeGrants(const Facts& facts, Findings& found) {
  std::map<absl::Duration, std::vector<std::string>> names;
  for (const ServerFacts& server : facts.servers) {
    if (server.granted) names[*server.granted].push_back(server.name);
  }
  if (names.size() < 2) return;
  const auto entry = [](std::string* out, const auto& granted) {
    absl::StrAppend(out, Short(granted.first), " (", NameSome(granted.second), ")");
  };
  found.push_back(
      {kCertain, "timeouts-differ", "servers",
       absl::StrCat("they grant different session timeouts: ", absl::StrJoin(names, "; ", entry),
                    "; a lease may be believed for too long (docs/lease.md, \"One T\")"),
       "give all servers one tickTime, minSessionTimeout and maxSessionTimeout"});
}

void JudgeServers(const Facts& facts, Findings& found) {
  JudgeEnsembles(facts, found);
  const auto good = std::ranges::count_if(
      facts.servers, [](const ServerFacts& server) { return server.granted.has_value(); });
  const std::string serving = absl::StrCat(good, " of ", facts.servers.size(), " listed serve");
  for (const ServerFacts& server : facts.servers) {
    if (!server.granted) found.push_back(OfServer(server, serving));
  }
  JudgeVoters(facts, std::ssize(facts.servers) - good, found);
  JudgeGrants(facts, found);
}

void JudgeTimeouts(const Facts& facts, Findings& found) {
  const Timeouts t = TimeoutsIn(facts);
  // No server grants a session: findings of their own say so.
  if (!t.granted) return;
  const absl::Duration granted = *t.granted;
  if (granted != facts.asked) {
    const bool longer = granted > facts.asked;
    found.push_back(
        {kCertain, "timeout-clamped", kSession,
         absl::StrCat(Short(facts.asked), " is asked for, ", Short(granted), " is granted: ",
                      longer ? "the lock of a holder that has crashed is free only after that"
                             : "a lease ends sooner than was meant when its client is cut off"),
         absl::StrCat("ask for what they grant (--session-timeout), or change the servers' ",
                      longer ? "minSessionTimeout" : "maxSessionTimeout")});
  }
  if (t.tick && granted < 2 * *t.tick) {
    found.push_back(
        {kCertain, "timeout-below-two-ticks", kSession,
         absl::StrCat(Short(granted), " is less than two ticks of ", Short(*t.tick),
                      ": the leader's pings may be further apart than a lease allows for"),
         absl::StrCat("ask for ", Short(2 * *t.tick),
                      " or more, or remove minSessionTimeout from the servers' configuration")});
  }
  // One server follows no other, so it has no syncLimit.
  if (t.alone || !t.silence || granted >= *t.silence) return;
  // A follower that is cut off goes on serving for syncLimit ticks, longer than such a session
  // lives.
  found.push_back(
      {kCertain, "timeout-below-sync-limit", kSession,
       absl::StrCat(Short(granted), " is less than the ", Short(*t.silence), " (syncLimit ",
                    *t.sync_limit, " x ", Short(*t.tick),
                    ") for which a server that is cut off goes on answering reads: clients of"
                    " other libraries may believe in a lock that was granted to another (zkr's"
                    " leases end in time), and a leader that falls silent costs every lease"),
       absl::StrCat("ask for ", Short(*t.silence),
                    " or more (--session-timeout), or lower the servers' syncLimit")});
}

void JudgeEpoch(const Facts& facts, Findings& found) {
  if (!facts.epoch_trouble.empty()) {
    return found.push_back(
        {kCertain, "epoch-unreadable", session::kEpochPath,
         absl::StrCat(facts.epoch_trouble, "; no lock is granted to such a client"),
         absl::StrCat(facts.epoch_denied ? "give credentials that may read it (--digest-file); "
                                           "only if nobody can: "
                                         : "",
                      kMakeEpoch)});
  }
  if (!WasSetBack(facts).value_or(false)) return;
  const FencingPass& seen = *facts.seen;
  const std::string behind =
      *facts.epoch < seen.epoch
          ? absl::StrCat("epoch ", seen.epoch, ", and the ensemble is at ", *facts.epoch)
          : absl::StrCat("token ", seen.token.ToString(),
                         ", and the ensemble has only come to zxid ", *HighestZxid(facts));
  found.push_back({kCertain, "set-back", "ensemble",
                   absl::StrCat("a resource has seen ", behind,
                                ": it was set back to an older state, so that tokens repeat, and "
                                "resources refuse new holders or admit old ones"),
                   absl::StrCat("stop all that acquires locks, then: zkr epoch --raise --above ",
                                seen.epoch, " (docs/zkr.md, \"After a restore\")")});
}

void JudgeSessions(const Facts& facts, Findings& found) {
  for (const Disagreement& d : facts.disagreements) {
    found.push_back(
        {kCertain, "servers-disagree", Printable(d.missing_at),
         absl::StrCat("does not show ", Printable(d.node), ", which ", Printable(d.shown_by),
                      " shows, though it has applied later writes: either they are not of one"
                      " ensemble, or one has lost data; two clients may each be granted the lock"),
         "trust no lock meanwhile: stop all that acquires locks, and find out which of the two has"
         " the ensemble's data (docs/adr/0021)"});
  }
}

}  // namespace

Findings Diagnose(const Facts& facts) {
  Findings found;
  JudgeServers(facts, found);
  JudgeTimeouts(facts, found);
  JudgeEpoch(facts, found);
  JudgeSessions(facts, found);
  if (facts.path) JudgeQueue(facts, *facts.path, found);
  if (facts.path && facts.partitions) JudgePartitions(facts, *facts.path, found);
  if (facts.path) JudgeAcls(facts, *facts.path, found);
  if (facts.epoch_parent) JudgeAcls(facts, *facts.epoch_parent, found);
  return found;
}

std::string NameSome(const std::vector<std::string>& names) {
  const std::ptrdiff_t shown = std::min(std::ssize(names), kMostNamed);
  const std::string some =
      absl::StrJoin(names.begin(), names.begin() + shown, ", ",
                    [](std::string* out, const auto& name) { out->append(Printable(name)); });
  const std::ptrdiff_t more = std::ssize(names) - shown;
  return more == 0 ? some : absl::StrCat(some, " and ", more, " more");
}

}  // namespace zkrecipes::zkr::doctor
