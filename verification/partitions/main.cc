// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-partitions: the members of a service on a real ensemble, while they are killed, paused,
// added and stopped. Writes what they told, and when each of it happened, as JSON, of which
// scripts/partitions_picture.py makes the picture and the verdict. Exits with 2 if the run could
// not be done.

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <list>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"

#include "lib/base/boot_time.h"
#include "testing/local/server_process.h"
#include "testing/local/work_directory.h"
#include "verification/partitions/member.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::verification {
namespace {

constexpr int kSessionTimeout = 4;  // seconds

int64_t Now() { return absl::ToInt64Nanoseconds(base::BootNow().since_boot()); }

class Service {
 public:
  // `program`: of a member.
  Service(std::vector<std::string> program, std::string servers, std::string logs)
      : program_(std::move(program)), servers_(std::move(servers)), logs_(std::move(logs)) {}

  absl::Status Start(const std::string& id) {
    std::vector<std::string> command = program_;
    command.insert(command.end(), {id, servers_, absl::StrCat(kSessionTimeout)});
    const auto pid = testing::Spawn({.command = command,
                                     .directory = std::filesystem::current_path(),
                                     .log = absl::StrCat(logs_, "/", id)});
    if (!pid.ok()) return pid.status();
    Member& member = members_.emplace_back();
    member.id = id;
    member.process.Adopt(*pid);
    return absl::OkStatus();
  }
  testing::ServerProcess& Of(const std::string& id) {
    return std::find_if(members_.begin(), members_.end(),
                        [&id](const Member& m) { return m.id == id; })
        ->process;
  }
  void StopAll() {
    for (Member& member : members_) {
      if (member.process.pid() != 0) member.process.Terminate(absl::Seconds(20));
    }
  }
  nlohmann::json Told() const {
    nlohmann::json told;
    for (const Member& member : members_) {
      told[member.id] = std::vector<std::string>(absl::StrSplit(
          testing::ReadFile(absl::StrCat(logs_, "/", member.id)), '\n', absl::SkipEmpty()));
    }
    return told;
  }

 private:
  struct Member {
    std::string id;
    testing::ServerProcess process;
  };

  const std::vector<std::string> program_;
  const std::string servers_;
  const std::string logs_;
  std::list<Member> members_;
};

struct Event {
  double second;
  std::string text;  // for the picture; empty: none
  std::function<absl::Status()> happens;
};

// Each comes when what the last one began is over.
std::vector<Event> Story(Service& service, testing::LocalEnsemble& servers) {
  const auto started = [&service](std::vector<std::string> ids) {
    return [&service, ids] {
      absl::Status status;
      for (const std::string& id : ids) status.Update(service.Start(id));
      return status;
    };
  };
  const auto does = [](auto act) { return [act] { return act(), absl::OkStatus(); }; };
  return {
      {0, "a, b, c, d start", started({"a", "b", "c", "d"})},
      {5, "b is killed", does([&] { service.Of("b").Kill(); })},
      {14, "e joins", started({"e"})},
      {18, "c is paused", does([&] { service.Of("c").Pause(); })},
      {28, "c goes on", does([&] { service.Of("c").Resume(); })},
      {34, "a stops", does([&] { kill(service.Of("a").pid(), SIGTERM); })},
      {39, "the leading server is killed",
       [&] {
         const auto leader = servers.Leader();
         return leader.ok() ? servers.Kill(*leader) : leader.status();
       }},
      {48, "all stop", does([&] { service.StopAll(); })},
  };
}

absl::StatusOr<nlohmann::json> Play(std::vector<std::string> program) {
  auto logs = testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  if (!logs.ok()) return logs.status();
  auto servers = testing::LocalEnsemble::Start();
  if (!servers.ok()) return servers.status();
  Service service(std::move(program), (*servers)->servers(), logs->path());
  nlohmann::json marks = nlohmann::json::array();
  const absl::Time begun = absl::Now();
  for (const Event& event : Story(service, **servers)) {
    absl::SleepFor(begun + absl::Seconds(event.second) - absl::Now());
    marks.push_back({{"at", Now()}, {"text", event.text}});
    if (absl::Status status = event.happens(); !status.ok()) return status;
  }
  return nlohmann::json{{"session_timeout", kSessionTimeout},
                        {"partitions", kPartitions},
                        {"marks", marks},
                        {"until", Now()},
                        {"told", service.Told()}};
}

int Run(const std::string& out, std::vector<std::string> program) {
  if (program.empty()) program = {"/proc/self/exe", "member"};
  const auto played = Play(std::move(program));
  if (!played.ok()) return std::cerr << "zkrecipes-partitions: " << played.status() << "\n", 2;
  return (std::ofstream(out) << played->dump() << std::endl).good() ? 0 : 2;
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
  CLI::App* const member = app.add_subcommand("member", "one member, until SIGTERM");
  member->add_option("id", id)->required();
  member->add_option("servers", servers)->required();
  member->add_option("timeout", timeout, "of the session, in seconds");
  CLI11_PARSE(app, argc, argv);
  return run->parsed() ? Run(out, program) : RunMember(id, servers, timeout);
}

}  // namespace
}  // namespace zkrecipes::verification

int main(int argc, char** argv) { return zkrecipes::verification::Main(argc, argv); }
