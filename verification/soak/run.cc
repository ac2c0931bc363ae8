// SPDX-License-Identifier: Apache-2.0

#include "verification/soak/run.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

#include "testing/local/work_directory.h"
#include "verification/checker/run_directory.h"
#include "verification/workload/crew.h"
#include "verification/workload/recorder.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::soak {
namespace {

using What = history::Event::What;

// An ensemble elects in well under a second when the machine is idle; it need not be.
constexpr absl::Duration kElection = absl::Seconds(3);
const absl::Duration kRecovery = kSessionTimeout + 1.5 * kTick + kElection + absl::Seconds(2);

// REQUIRES: there are such.
std::vector<const faults::Fault*> Named(const std::vector<std::string>& names) {
  std::vector<const faults::Fault*> found;
  for (const std::string& name : names) found.push_back(faults::FindFault(name));
  return found;
}

std::vector<const faults::Fault*> Selected(const SoakOptions& options) {
  if (!options.faults.empty()) return Named(options.faults);
  std::vector<const faults::Fault*> possible;
  for (const faults::Fault& fault : faults::Catalogue()) {
    if (fault.in_docker || !options.docker()) possible.push_back(&fault);
  }
  return possible;
}

bool HitsAClient(const faults::Fault& fault) { return absl::StrContains(fault.name, "client"); }

absl::Status Annotate(const faults::Fault& fault, const char* doing, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(doing, " ", fault.name, ": ", status.message()));
}

// Does faults, some of them two at once, and records when. Blocks.
class Trouble {
 public:
  Trouble(faults::Arena arena, history::Recorder& recorder, std::mt19937_64& random)
      : arena_(arena), recorder_(recorder), random_(random) {}

  // One after the other for as long as the options say, each followed by time to recover. A worker
  // that ends by itself ends the run.
  absl::Status Make(const SoakOptions& options, history::Crew& crew) {
    Deck deck(Selected(options));
    const absl::Time end = absl::Now() + options.length;
    absl::SleepFor(kRecovery / 2);  // to begin with, all is well
    do {
      absl::Status status = Do(deck.Draw(random_));
      absl::SleepFor(kRecovery * std::uniform_real_distribution<double>(0.5, 1)(random_));
      status.Update(crew.Check());
      if (!status.ok()) return status;
    } while (options.one_each ? !deck.at_end() : absl::Now() < end);
    return absl::OkStatus();
  }

 private:
  // A fault from begin to end; now and then something happens to a client meanwhile. An error: it
  // could not be begun or ended, so the run is worth nothing.
  absl::Status Do(const faults::Fault& fault) {
    auto ongoing = Begin(fault);
    if (!ongoing.ok()) return ongoing.status();
    absl::Status status;
    if (!HitsAClient(fault) && random_() % 4 == 0) {
      absl::SleepFor(fault.lasts / 4);
      const faults::Fault& other = for_clients_.Draw(random_);
      auto meanwhile = Begin(other);
      if (!meanwhile.ok()) status = meanwhile.status();
      absl::SleepFor(fault.lasts / 2);
      if (meanwhile.ok()) status = End(other, *std::move(meanwhile));
      absl::SleepFor(fault.lasts / 4);
    } else {
      absl::SleepFor(fault.lasts);
    }
    status.Update(End(fault, *std::move(ongoing)));
    return status;
  }

  absl::StatusOr<faults::Ongoing> Begin(const faults::Fault& fault) {
    // Recorded before its target is known: to begin it may take a while.
    recorder_.Record({.who = fault.name, .what = What::kFault});
    auto ongoing = fault.Begin(arena_);
    if (!ongoing.ok()) return Annotate(fault, "cannot begin", ongoing.status());
    return ongoing;
  }

  absl::Status End(const faults::Fault& fault, faults::Ongoing ongoing) {
    const absl::Status status = std::move(ongoing.end)();
    recorder_.Record({.who = fault.name, .what = What::kMended, .detail = ongoing.targets.name});
    return Annotate(fault, "cannot end", status);
  }

  faults::Arena arena_;
  history::Recorder& recorder_;
  std::mt19937_64& random_;
  // Faults that may hit one client during another fault: only those that leave the network and the
  // servers alone, so that no fault mends another.
  Deck for_clients_{Named({"kill_client", "pause_client", "pause_client_long"})};
};

// No faults any more, for as long as every wait may still take.
absl::Status BeQuiet(servers::Servers& servers, history::Recorder& recorder) {
  if (auto status = servers.WaitForAll(absl::Minutes(1)); !status.ok()) return status;
  recorder.Record({.what = What::kQuiet});
  absl::SleepFor(history::Limits().progress + absl::Seconds(1));
  return absl::OkStatus();
}

// The contenders that are still queued when no worker lives any more.
absl::StatusOr<std::vector<std::string>> Left(const faults::Stage& stage,
                                              const std::set<std::string>& paths) {
  absl::SleepFor(kSessionTimeout + 2 * kTick);  // of those that were killed
  auto client = Client::Connect({.servers = stage.servers->list()}, {absl::Minutes(1)});
  if (!client.ok()) return client.status();
  std::vector<std::string> left;
  for (const std::string& path : paths) {
    auto queue = ListContenders(**client, path, {absl::Minutes(1)});
    if (!queue.ok()) return queue.status();
    for (const ContenderInfo& contender : *queue) left.push_back(path + "/" + contender.node);
  }
  return left;
}

// Writes the facts that no history has.
absl::Status WriteRest(const faults::Stage& stage, const SoakOptions& options) {
  auto histories = history::ReadRunDirectory(options.report);
  if (!histories.ok()) return histories.status();
  std::set<std::string> paths;
  for (const history::Event& event : histories->events) {
    if (event.what == What::kInvoke) paths.insert(event.path);
  }
  auto left = Left(stage, paths);
  if (!left.ok()) return left.status();
  auto logs = stage.servers->TransactionLogs(options.report + "/logs");
  if (!logs.ok()) return logs.status();
  history::Limits limits;
  limits.recovery = kRecovery;
  limits.wall_less_boot = absl::Now() - absl::UnixEpoch() - absl::Nanoseconds(history::Now());
  limits.left = *std::move(left);
  const std::string title =
      absl::StrCat("Soak of the ", options.ensemble, " ensemble, seed ", options.seed);
  return history::WriteFile(options.report + "/run.json", history::ToJson(title, limits));
}

}  // namespace

absl::Status Run(const faults::Stage& stage, const SoakOptions& options) {
  auto recorder = history::Recorder::Open(options.report + "/faults.jsonl", "faults");
  if (!recorder.ok()) return recorder.status();
  auto crew = history::Crew::Start({.programs = ZKRECIPES_BIN_DIR,
                                    .directory = options.report,
                                    .hosts = stage.hosts,
                                    .servers = stage.servers->list(),
                                    .session_timeout = kSessionTimeout,
                                    .seed = options.seed});
  if (!crew.ok()) return crew.status();
  std::mt19937_64 random(options.seed);
  Trouble trouble({*stage.servers, *stage.network, **crew, random}, **recorder, random);
  absl::Status status = trouble.Make(options, **crew);
  if (status.ok()) status = BeQuiet(*stage.servers, **recorder);
  status.Update((*crew)->StopAll());
  if (!status.ok()) return status;
  return WriteRest(stage, options);
}

std::vector<std::string> Disagreements(const std::string& log) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(log, '\n')) {
    if (!absl::StrContains(line, "Digests are not matching")) continue;
    if (!absl::StrContains(line, "[main]")) lines.emplace_back(line);
  }
  return lines;
}

std::vector<std::string> DisagreementsIn(const std::string& directory) {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& server : std::filesystem::directory_iterator(directory, none)) {
    for (const std::string& line : Disagreements(testing::ReadFile(server.path() / "server.log"))) {
      all.push_back(absl::StrCat(server.path().filename().string(), ": ", line));
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace zkrecipes::soak
