// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "lib/zk/seam/server_list.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/doctor.h"

namespace zkrecipes::zkr::doctor {
namespace {

// What stands at PATH, if there is one.
absl::Status Read(const std::string& path, const Clients& clients, Facts& facts) {
  if (absl::Status read = ReadTree(clients, path, facts); !read.ok()) return read;
  // Also of a path that the server which was read does not show: another one may.
  if (!path.empty()) facts.disagreements = CompareServers(clients, path);
  return absl::OkStatus();
}

int RunPlan(const commands::GlobalFlags& global, const DoctorFlags& flags) {
  const auto short_of = [](absl::Duration d) { return d < absl::Milliseconds(1); };
  if (short_of(flags.input.tick) || flags.input.tick > absl::Hours(1)) {
    return Refuse(absl::InvalidArgumentError("--tick: must be between 1ms and 1h"));
  }
  if (short_of(global.session_timeout) || flags.input.pause > absl::Hours(1)) {
    return Refuse(absl::InvalidArgumentError(
        "--session-timeout must be 1ms or more, --pause an hour at most"));
  }
  PlanInput input = flags.input;
  input.session_timeout = global.session_timeout;
  return Print(global.json ? PlanJson(input) : PlanText(input)) ? kDone : kInternal;
}

}  // namespace

int RunDoctor(const commands::GlobalFlags& global, const DoctorFlags& flags) {
  if (flags.plan) return RunPlan(global, flags);
  // Connect refuses an empty list with the words of every other command.
  if (global.client.servers.empty()) return Refuse(commands::Connect(global).status());  // says so
  const auto list = zk::ParseServerList(global.client.servers);
  if (!list.ok()) return Refuse(list.status());
  Facts facts{.asked = global.session_timeout, .now = absl::Now()};
  if (!flags.seen.empty()) {
    const auto seen = commands::ParseSeen(flags.seen);
    if (!seen.ok()) return Refuse(seen.status());
    facts.seen = *seen;
  }
  for (const std::string& user : global.client.digest_credentials) {
    facts.users.push_back(user.substr(0, user.find(':')));
  }
  const auto clients = ProbeServers(global, *list, facts);
  if (!clients.ok()) return Refuse(clients.status());
  // Where no server grants a session the servers are reported all the same.
  const absl::Status read = Read(flags.path, *clients, facts);
  const Findings findings = Diagnose(facts);
  if (!Print(global.json ? ReportJson(facts, findings) : ReportText(facts, findings))) {
    return kInternal;
  }
  // After the report, which is printed even if it is incomplete.
  if (!read.ok()) return Refuse(read);
  if (facts.path && facts.path->exists && !facts.path->listed) {
    return Refuse(absl::PermissionDeniedError(
        absl::StrCat(flags.path, ": its ACL does not let this client read it (ZNOAUTH)")));
  }
  return findings.empty() ? kDone : kNo;
}

}  // namespace zkrecipes::zkr::doctor
