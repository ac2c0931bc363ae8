// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-partitions: the members of a service on a real ensemble, while they are killed, paused,
// added and stopped. Writes what they told, and when each of it happened, as JSON, of which
// scripts/partitions_picture.py makes the picture and the verdict. Exits with 2 if the run could
// not be done.

#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"

#include "lib/base/boot_time.h"
#include "testing/local/work_directory.h"
#include "verification/partitions/member.h"
#include "verification/partitions/rolling.h"
#include "verification/partitions/service.h"
#include "verification/partitions/story.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::verification {
namespace {

constexpr int kSessionTimeout = 4;  // seconds

int64_t Now() { return absl::ToInt64Nanoseconds(base::BootNow().since_boot()); }

// Zero minutes: the fixed story.
struct Length {
  double minutes = 0;
  uint64_t seed = 1;
};

absl::StatusOr<nlohmann::json> Play(std::vector<std::string> program, Length length) {
  auto logs = testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  if (!logs.ok()) return logs.status();
  auto servers = testing::LocalEnsemble::Start(
      {.max_lifetime = absl::Minutes(length.minutes) + absl::Hours(1)});
  if (!servers.ok()) return servers.status();
  Service service(std::move(program), {(*servers)->servers(), absl::StrCat(kSessionTimeout)},
                  logs->path());
  const std::vector<Event> story =
      length.minutes > 0 ? RandomStory(service, **servers, length.seed, length.minutes)
                         : FixedStory(service, **servers);
  nlohmann::json marks = nlohmann::json::array();
  const absl::Time begun = absl::Now();
  for (const Event& event : story) {
    absl::SleepFor(begun + absl::Seconds(event.second) - absl::Now());
    marks.push_back({{"at", Now()}, {"text", event.text}});
    if (absl::Status status = event.happens(); !status.ok()) return status;
  }
  return nlohmann::json{{"seed", length.minutes > 0 ? absl::StrCat(length.seed) : "none"},
                        {"session_timeout", kSessionTimeout},
                        {"partitions", kPartitions},
                        {"marks", marks},
                        {"until", Now()},
                        {"told", service.Told()}};
}

int Run(const std::string& out, std::vector<std::string> program, Length length) {
  if (program.empty()) program = {"/proc/self/exe", "member"};
  const auto played = Play(std::move(program), length);
  if (!played.ok()) return std::cerr << "zkrecipes-partitions: " << played.status() << "\n", 2;
  return (std::ofstream(out) << played->dump() << std::endl).good() ? 0 : 2;
}

int RunRolling(Fleet fleet) {
  fleet.member_by_member = fleet.program.empty();
  const absl::StatusOr<bool> twice = Roll(fleet);
  if (!twice.ok()) return std::cerr << "zkrecipes-partitions: " << twice.status() << "\n", 2;
  return *twice ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("A service's partitions on real servers, while its members come and go.");
  app.require_subcommand(1);
  std::string out, id, servers;
  std::vector<std::string> program;
  double timeout = kSessionTimeout;
  CLI::App* const run = app.add_subcommand("run", "three servers, members, faults");
  run->add_option("--out", out, "what happened, as JSON")->required();
  run->add_option("--member", program, "another program for members, and its arguments");
  Length length;
  run->add_option("--minutes", length.minutes, "faults at random, in place of the fixed story")
      ->check(CLI::Range(1.0, 600.0));
  run->add_option("--seed", length.seed, "of what is chosen");
  CLI::App* const member = app.add_subcommand("member", "one member, until SIGTERM");
  member->add_option("id", id)->required();
  member->add_option("servers", servers)->required();
  member->add_option("timeout", timeout, "of the session, in seconds");
  Fleet fleet;
  CLI::App* const rolling = app.add_subcommand("rolling", "a fleet starts, and is restarted");
  rolling->add_option("--partitions", fleet.partitions, "a multiple of the members' number");
  rolling->add_option("--processes", fleet.processes);
  rolling->add_option("--each", fleet.each, "members of a process");
  rolling->add_option("--restarts", fleet.restarts, "of processes");
  rolling->add_option("--member", fleet.program, "another program for processes");
  CLI::App* const members = app.add_subcommand("members", "one process of a fleet, until SIGTERM");
  members->add_option("id", id)->required();
  members->add_option("servers", servers)->required();
  members->add_option("timeout", timeout, "of the session, in seconds");
  members->add_option("each", fleet.each);
  members->add_option("partitions", fleet.partitions);
  CLI11_PARSE(app, argc, argv);
  if (run->parsed()) return Run(out, program, length);
  if (rolling->parsed()) return RunRolling(fleet);
  if (member->parsed()) return RunMember(id, servers, timeout);
  return RunMembers(id, servers, timeout, fleet.each, fleet.partitions);
}

}  // namespace
}  // namespace zkrecipes::verification

int main(int argc, char** argv) { return zkrecipes::verification::Main(argc, argv); }
