// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/str_cat.h"

#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/finding.h"

namespace zkrecipes::zkr::doctor {
namespace {

using enum Finding::Kind;

constexpr char kAbout[] = "session timeout";
// Below it beats prove nothing (docs/lease.md).
constexpr absl::Duration kShortestProven = absl::Milliseconds(500);

void JudgeClamp(const Timeouts& t, Findings& found) {
  const Grants& grants = *t.grants;
  // Granted as asked for, by all servers: the usual case.
  if (grants.asked == t.asked) return;
  const bool longer = grants.asked > t.asked;
  found.push_back(
      {kFinding, "timeout-clamped", kAbout,
       absl::StrCat(Short(t.asked), " is asked for, ", Short(grants.asked), " is granted: ",
                    longer ? "the lock of a holder that has crashed is free only after that"
                           : "a lease ends sooner than was meant when its client is cut off"),
       absl::StrCat("ask for ", Short(grants.least), " to ", Short(grants.longest),
                    " (--session-timeout), or change the servers' ",
                    longer ? "minSessionTimeout" : "maxSessionTimeout")});
}

void JudgeTick(const Timeouts& t, Findings& found) {
  const absl::Duration granted = t.grants->asked;
  // The library proves a lease by requests; below this none comes back in time.
  if (granted < kShortestProven) {
    found.push_back({kFinding, "timeout-unproven", kAbout,
                     absl::StrCat("of a session of ", Short(granted),
                                  " no lease can be proven, except in its first moment"),
                     "ask for 500ms or more (--session-timeout)"});
  }
  // An inferred tick is derived from the grants, so it cannot be judged by them.
  if (t.tick_is_inferred || granted >= 2 * *t.tick) return;
  found.push_back(
      {kFinding, "timeout-below-two-ticks", kAbout,
       absl::StrCat(Short(granted), " is less than two ticks of ", Short(*t.tick),
                    ": the leader's pings may be further apart than a lease allows for"),
       absl::StrCat("ask for ", Short(2 * *t.tick),
                    " or more, or remove minSessionTimeout from the servers' configuration")});
}

void JudgeSilence(const Timeouts& t, Findings& found) {
  const absl::Duration granted = t.grants->asked;
  // One server follows nobody, so nobody gives it up.
  if (t.alone) return;
  if (!t.silence) {
    found.push_back({kNote, "sync-limit-unknown", kAbout,
                     "whether it outlasts syncLimit is not known: no server is open to \"conf\"",
                     "add conf to the servers' 4lw.commands.whitelist"});
    return;
  }
  const std::string limit =
      absl::StrCat(Short(*t.silence), " (syncLimit ", *t.sync_limit, " x ", Short(*t.tick), ")");
  // A follower that is cut off goes on serving for syncLimit ticks, longer than such a session
  // lives.
  if (granted < *t.silence) {
    found.push_back(
        {kFinding, "timeout-below-sync-limit", kAbout,
         absl::StrCat(Short(granted), " is less than the ", limit,
                      " for which a server that is cut off goes on answering reads: clients of"
                      " other libraries may believe in a lock that was granted to another (zkr's"
                      " leases end in time), and a leader that falls silent costs every lease"),
         absl::StrCat("ask for ", Short(*t.silence),
                      " or more (--session-timeout), or lower the servers' syncLimit")});
    return;
  }
  const LeaseLeft left = LeaseLeftOf(granted);
  if (left.least >= *t.silence) return;
  found.push_back({kNote, "silent-leader-costs-leases", kAbout,
                   absl::StrCat("without answers a lease lasts another ", Short(left.least), " to ",
                                Short(left.most), "; a leader that falls silent is given up after ",
                                limit, ": leases held at that time may be lost"),
                   ""});
}

}  // namespace

Findings JudgeTimeouts(const Facts& facts) {
  const Timeouts t = TimeoutsIn(facts);
  Findings found;
  // No server grants a session: findings of their own say so.
  if (!t.grants) return found;
  JudgeClamp(t, found);
  JudgeTick(t, found);
  JudgeSilence(t, found);
  return found;
}

}  // namespace zkrecipes::zkr::doctor
