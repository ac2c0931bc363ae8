// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-everyday: holders of locks of ours, of kazoo's and of Curator's on the same servers,
// while everyday faults befall these. Writes a line of JSON for each fault: when it was, and all
// that the holders told meanwhile (verification/interoperability/peer.h). The figures of
// docs/faults.md are made of it by scripts/faults_table.py. Exits with 2 if a run could not be
// done, 3 if none can be done here.

#include <time.h>

#include <cstdio>
#include <fstream>
#include <list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"

#include "testing/local/server_process.h"
#include "testing/local/work_directory.h"
#include "verification/everyday/names.h"

namespace zkrecipes::everyday {
namespace {

constexpr absl::Duration kSoon = absl::Seconds(60);
constexpr absl::Duration kSettled = absl::Seconds(5);
constexpr int kSyncLimit = 5;  // ticks, as in ZooKeeper's own sample
constexpr absl::Duration kMaxLifetime = absl::Hours(8);

struct Options {
  int runs = 1;
  int locks = 3;
  int tick = 500;
  std::vector<int> timeouts = {4, 10, 30};
  std::vector<std::string> faults;
  std::string out;
};

// As the holders' clocks: CLOCK_MONOTONIC.
int64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// The holders' host: no fault of everyday life is one of a client.
class Holders : public faults::Clients {
 public:
  explicit Holders(servers::Host host) : host_(std::move(host)) {}
  int size() const override { return 1; }
  servers::Host host(int) const override { return host_; }
  absl::Duration session_timeout() const override { return absl::Seconds(10); }
  absl::Status Kill(int) override { return absl::OkStatus(); }
  absl::Status Start(int) override { return absl::OkStatus(); }
  absl::Status Pause(int) override { return absl::OkStatus(); }
  absl::Status Resume(int) override { return absl::OkStatus(); }
  absl::Status SetClock(int, absl::Duration) override { return absl::OkStatus(); }

 private:
  servers::Host host_;
};

// The holders of one run, a process for each library.
class Party {
 public:
  Party(const Options& options, const servers::Host& host, const std::string& list,
        const std::string& logs, pid_t group);

  // Each lock has a holder that works.
  bool AllWork() const;
  bool AwaitAllWork(absl::Duration steadily, absl::Duration patience) const;
  nlohmann::json Told() const;

 private:
  struct Library {
    std::string name;
    std::string log;
    testing::ServerProcess process;
  };

  const size_t locks_;  // of each library
  std::list<Library> libraries_;
};

Party::Party(const Options& options, const servers::Host& host, const std::string& list,
             const std::string& logs, pid_t group)
    : locks_(static_cast<size_t>(options.locks) * options.timeouts.size()) {
  const std::map<std::string, std::vector<std::string>> commands = {
      {"ours", {ZKRECIPES_BIN_DIR "/zkrecipes-peer"}},
      {"kazoo", {"/usr/bin/python3", ZKRECIPES_PEERS_SOURCE_DIR "/kazoo_peer.py"}},
      {"curator", {ZKRECIPES_PEERS_DIR "/curator-peer"}}};
  for (const auto& [name, program] : commands) {
    std::vector<std::string> command = {"/usr/bin/nsenter", "--net=" + host.network_namespace,
                                        "--"};
    command.insert(command.end(), program.begin(), program.end());
    command.insert(command.end(), {list, "hold", "/" + name, absl::StrCat(options.locks)});
    for (const int seconds : options.timeouts) command.push_back(absl::StrCat(seconds * 1000));
    Library& library = libraries_.emplace_back();
    library.name = name;
    library.log = logs + "/" + name;
    const auto pid = testing::Spawn({.command = command, .log = library.log, .group = group});
    if (pid.ok()) library.process.Adopt(*pid);
  }
}

bool Party::AllWork() const {
  for (const Library& library : libraries_) {
    std::map<std::string, std::set<std::string>> working;  // who, by lock
    for (const std::string& line : std::vector<std::string>(
             absl::StrSplit(testing::ReadFile(library.log), '\n', absl::SkipEmpty()))) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      if (words.size() < 4) continue;
      if (words[0] == "grant" || words[0] == "go") working[words[2]].insert(words[3]);
      if (words[0] == "stop" || words[0] == "lost") working[words[2]].erase(words[3]);
    }
    std::erase_if(working, [](const auto& lock) { return lock.second.empty(); });
    if (working.size() < locks_) return false;
  }
  return true;
}

bool Party::AwaitAllWork(absl::Duration steadily, absl::Duration patience) const {
  const absl::Time deadline = absl::Now() + patience;
  absl::Time since = absl::Now();
  while (absl::Now() < deadline) {
    if (!AllWork()) since = absl::Now();
    if (absl::Now() - since >= steadily) return true;
    absl::SleepFor(absl::Milliseconds(100));
  }
  return false;
}

nlohmann::json Party::Told() const {
  nlohmann::json told;
  for (const Library& library : libraries_) {
    told[library.name] = std::vector<std::string>(
        absl::StrSplit(testing::ReadFile(library.log), '\n', absl::SkipEmpty()));
  }
  return told;
}

// The servers and all that runs of them can share.
struct Scene {
  faults::Stage stage;
  std::unique_ptr<Names> names;
  std::unique_ptr<testing::Guard> guard;  // the holders end with this process
  std::string directory;
  absl::BitGen random = {};
};

// Opening a session is a write. After a stall ZooKeeper's leader may commit nothing until it is
// restarted, and say that it serves (docs/report.md): no lease can be proven then.
// Asked with another library, lest a client of ours that cannot connect be the servers' fault.
bool Commits(const servers::Host& host, const std::string& list) {
  constexpr char kConnect[] =
      "import sys, kazoo.client; kazoo.client.KazooClient(sys.argv[1]).start(timeout=10)";
  return servers::RunIn(host.network_namespace, {"/usr/bin/python3", "-c", kConnect, list}).ok();
}

absl::StatusOr<nlohmann::json> Play(Scene& scene, const Options& options,
                                    const faults::Fault& fault) {
  servers::Servers& servers = *scene.stage.servers;
  if (auto status = servers::Heal(servers, 2 * kSoon); !status.ok()) return status;
  auto logs = testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  if (!logs.ok()) return logs.status();
  Holders holders(scene.stage.hosts.front());
  const Party party(options, holders.host(0), scene.names->list(), logs->path(),
                    scene.guard->group());
  if (!party.AwaitAllWork(absl::Seconds(3), 2 * kSoon)) {
    return absl::DeadlineExceededError(absl::StrCat("not all hold: ", party.Told().dump(1)));
  }
  faults::Arena arena{servers, *scene.stage.network, holders, scene.random};
  const int64_t begun = Now();
  auto ongoing = fault.Begin(arena);
  if (!ongoing.ok()) return ongoing.status();
  absl::SleepFor(fault.lasts);
  absl::Status status = std::move(ongoing->end)();
  const int64_t ended = Now();
  status.Update(servers.WaitForAll(kSoon));
  if (!status.ok()) return status;
  const bool again = party.AwaitAllWork(kSettled, kSoon);
  const int64_t until = Now();
  return nlohmann::json{{"fault", fault.name},
                        {"summary", fault.summary},
                        {"tick", options.tick},
                        {"timeouts", options.timeouts},
                        {"locks", options.locks},
                        {"hit", ongoing->targets.name},
                        {"begun", begun},
                        {"ended", ended},
                        {"until", until},
                        {"commits", again || Commits(holders.host(0), scene.names->list())},
                        {"wall", absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone())},
                        {"told", party.Told()}};
}

// A run that could not be done is told and left out.
int PlayAll(Scene& scene, const Options& options) {
  int undone = 0;
  const std::set<std::string> chosen(options.faults.begin(), options.faults.end());
  for (int run = 0; run < options.runs; ++run) {
    for (const faults::Fault& fault : EverydayFaults(*scene.names)) {
      if (!chosen.empty() && !chosen.contains(fault.name)) continue;
      std::fprintf(stderr, "run %d: %s\n", run + 1, fault.summary);
      const auto played = Play(scene, options, fault);
      if (played.ok()) {
        std::ofstream(options.out, std::ios::app) << played->dump() << std::endl;
        continue;
      }
      ++undone;
      std::fprintf(stderr, "zkrecipes-everyday: %s: %s\n", fault.name,
                   played.status().ToString().c_str());
    }
  }
  return undone == 0 ? 0 : 2;
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "zkrecipes-everyday: %s\n", status.ToString().c_str());
  return absl::IsFailedPrecondition(status) ? 3 : 2;
}

int Run(const Options& options) {
  auto directory = testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  if (!directory.ok()) return Fail(directory.status());
  auto names = Names::Make(directory->path());  // these before there are threads
  if (!names.ok()) return Fail(names.status());
  auto stage = faults::MakeStage(
      /*docker=*/false,
      {.tick = absl::Milliseconds(options.tick),
       .init_limit = 10,
       .sync_limit = kSyncLimit,
       .max_lifetime = kMaxLifetime},
      /*hosts=*/1);
  if (!stage.ok()) return Fail(stage.status());
  if (auto status = (*names)->Cover(*stage->servers); !status.ok()) return Fail(status);
  auto guard = testing::Guard::Start(kMaxLifetime, "");
  if (!guard.ok()) return Fail(guard.status());
  Scene scene{*std::move(stage), *std::move(names), *std::move(guard), directory->path()};
  return PlayAll(scene, options);
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Everyday faults on real servers, and what becomes of locks that are held meanwhile.");
  app.option_defaults()->always_capture_default();
  app.add_option("--runs", options.runs, "how often each fault")->check(CLI::PositiveNumber);
  app.add_option("--locks", options.locks, "of each library, for each session timeout");
  app.add_option("--tick", options.tick, "the servers' tick, in milliseconds");
  app.add_option("--timeouts", options.timeouts, "session timeouts, in seconds")->delimiter(',');
  app.add_option("--faults", options.faults, "only these")->delimiter(',');
  app.add_option("--out", options.out, "lines of JSON are added to this file")->required();
  CLI11_PARSE(app, argc, argv);
  return Run(options);
}

}  // namespace
}  // namespace zkrecipes::everyday

int main(int argc, char** argv) { return zkrecipes::everyday::Main(argc, argv); }
