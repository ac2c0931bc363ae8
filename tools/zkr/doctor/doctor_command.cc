// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/doctor_command.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "lib/zk/seam/server_list.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/epoch.h"
#include "tools/zkr/doctor/finding.h"
#include "tools/zkr/doctor/plan.h"
#include "tools/zkr/doctor/probe.h"
#include "tools/zkr/doctor/read_tree.h"
#include "tools/zkr/doctor/report.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::zkr::doctor {
namespace {

// For a session and for what is asked in it, each.
constexpr absl::Duration kLongestWait = absl::Seconds(5);

absl::Status ReadEpoch(Client& client, Facts& facts) {
  const auto epoch = commands::AskEpoch(client, {kLongestWait});
  if (epoch.ok()) {
    facts.epoch = *epoch;
    return absl::OkStatus();
  }
  // A record that is denied or malformed is a finding; anything else ends the examination.
  const bool told =
      absl::IsPermissionDenied(epoch.status()) || absl::IsFailedPrecondition(epoch.status());
  if (!told) return epoch.status();
  facts.epoch_trouble = std::string(epoch.status().message());
  return absl::OkStatus();
}

// Adds the contenders, and those of their processes that run on this machine.
absl::Status ReadQueue(Client& client, const std::string& path, Facts& facts) {
  auto contenders = ListContenders(client, path, {kLongestWait});
  if (!contenders.ok()) return contenders.status();
  facts.contenders = *std::move(contenders);
  facts.machine = ReadOwners(facts.contenders);
  return absl::OkStatus();
}

// With PATH what is there; otherwise the namespace's root, if there is one.
absl::Status ReadTree(const commands::GlobalFlags& global, const std::string& path, Facts& facts) {
  commands::GlobalFlags flags = global;
  // A report must not wait for a long session where no server answers.
  flags.session_timeout = std::min(flags.session_timeout, kLongestWait);
  const auto client = commands::Connect(flags);
  if (!client.ok()) return client.status();
  if (absl::Status asked = ReadEpoch(**client, facts); !asked.ok()) return asked;
  if (path.empty() && NamespaceOf(**client).empty()) return absl::OkStatus();
  auto looked = path.empty() ? ReadNamespace(**client, {kLongestWait})
                             : ReadPath(**client, path, {kLongestWait});
  if (!looked.ok()) return looked.status();
  const bool missing = !looked->exists;
  // Also of a path that this server does not show: another one may.
  if (!path.empty()) {
    facts.disagreements = CompareServers(flags, facts.servers, path, {kLongestWait});
  }
  // A path that may not be listed is reported as such by the ACLs' findings.
  if (!path.empty() && looked->listed) {
    if (absl::Status seen = ReadQueue(**client, path, facts); !seen.ok()) return seen;
  }
  facts.paths.push_back(*std::move(looked));
  if (path.empty() || !missing) return absl::OkStatus();
  auto ancestor = ReadAncestor(**client, path, {kLongestWait});
  if (ancestor.ok()) facts.paths.push_back(*std::move(ancestor));
  return ancestor.status();
}

int RunPlan(const commands::GlobalFlags& global, const DoctorFlags& flags) {
  const auto short_of = [](absl::Duration d) { return d < absl::Milliseconds(1); };
  if (short_of(flags.tick) || flags.tick > absl::Hours(1)) {
    return Refuse(absl::InvalidArgumentError("--tick: must be between 1ms and 1h"));
  }
  if (short_of(global.session_timeout) || flags.pause > absl::Hours(1)) {
    return Refuse(absl::InvalidArgumentError(
        "--session-timeout must be 1ms or more, --pause an hour at most"));
  }
  const PlanInput input{global.session_timeout, flags.tick, flags.sync_limit, flags.pause};
  return Print(global.json ? PlanJson(input) : PlanText(input)) ? kDone : kInternal;
}

}  // namespace

int RunDoctor(const commands::GlobalFlags& global, const DoctorFlags& flags) {
  if (flags.plan) return RunPlan(global, flags);
  const std::string& path = flags.path;
  if (!path.empty()) {
    if (const absl::Status checked = commands::CheckPath(path); !checked.ok())
      return Refuse(checked);
  }
  // Connect refuses an empty list with the words of every other command.
  if (global.servers.empty()) return Refuse(commands::Connect(global).status());  // says so
  const auto list = zk::ParseServerList(global.servers);
  if (!list.ok()) return Refuse(list.status());
  Facts facts{.asked = global.session_timeout, .dialect = global.dialect, .now = absl::Now()};
  if (!flags.seen.empty()) {
    const auto seen = commands::ParseSeen(flags.seen);
    if (!seen.ok()) return Refuse(seen.status());
    facts.seen = *seen;
  }
  for (const std::string& user : global.users)
    facts.users.push_back(user.substr(0, user.find(':')));
  facts.servers = ProbeServers(list->servers, global.session_timeout);
  // Where no server grants a session there is no tree to read; the servers are reported all the
  // same.
  const bool serves = std::ranges::any_of(
      facts.servers, [](const ServerFacts& server) { return server.grants.has_value(); });
  const absl::Status looked = serves
                                  ? ReadTree(global, path, facts)
                                  : absl::UnavailableError("none of the servers grants a session");
  if (absl::IsInvalidArgument(looked)) return Refuse(looked);  // a session timeout that none takes
  const Findings findings = Diagnose(facts);
  if (!Print(global.json ? ReportJson(facts, findings) : ReportText(facts, findings))) {
    return kInternal;
  }
  // After the report, which is printed even if it is incomplete.
  if (!looked.ok()) return Refuse(looked);
  if (!path.empty() && facts.paths[0].exists && !facts.paths[0].listed) {
    return Refuse(absl::PermissionDeniedError(
        absl::StrCat(path, ": its ACL does not let this client read it (ZNOAUTH)")));
  }
  const bool found = std::ranges::count(findings, Finding::Kind::kFinding, &Finding::kind) > 0;
  return found ? kNo : kDone;
}

}  // namespace zkrecipes::zkr::doctor
