// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_start.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"

#include "testing/local/spawn.h"

namespace zkrecipes::testing {
namespace {

// The manifest of zookeeper.jar names all that it needs except something behind slf4j.
constexpr char kZooKeeper[] = "/usr/share/java/zookeeper.jar";
constexpr char kLogger[] = "/usr/share/java/slf4j-simple.jar";

bool IsProgram(const std::string& path) { return access(path.c_str(), X_OK) == 0; }

// Empty if there is none.
std::string FindJava(const std::string& wanted) {
  if (absl::StrContains(wanted, '/')) return IsProgram(wanted) ? wanted : "";
  if (wanted.empty() && IsProgram("/usr/bin/java")) return "/usr/bin/java";
  const char* path = std::getenv("PATH");
  for (absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    std::string candidate = absl::StrCat(folder, "/", wanted.empty() ? "java" : wanted);
    if (IsProgram(candidate)) return candidate;
  }
  return "";
}

std::vector<std::string> CommandOf(const LocalEnsembleOptions& options, const ServerSpec& spec) {
  const int64_t containers = absl::ToInt64Milliseconds(options.container_check_interval);
  return std::vector<std::string>{
      FindJava(options.java), absl::StrCat("-Xmx", options.max_heap_megabytes, "m"),
      // A server lives for seconds: start fast, and do without the optimising compiler.
      "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
      // Nothing is written outside its directory, nothing half-dead is left.
      "-XX:-UsePerfData", absl::StrCat("-Djava.io.tmpdir=", spec.directory),
      "-XX:+ExitOnOutOfMemoryError", "-Djava.net.preferIPv4Stack=true",
      absl::StrCat("-Dznode.container.checkIntervalMs=", containers),
      // After a long outage members would look for a leader only once a minute.
      "-Dzookeeper.fastleader.maxNotificationInterval=1000",
      "-Dorg.slf4j.simpleLogger.showDateTime=true",
      "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
      "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn", "-cp",
      absl::StrCat(kZooKeeper, ":", kLogger), "org.apache.zookeeper.server.quorum.QuorumPeerMain",
      spec.ConfigPath()};
}

}  // namespace

absl::Status CheckInstalled(const LocalEnsembleOptions& options) {
  if (FindJava(options.java).empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no Java at '", options.java.empty() ? "/usr/bin/java" : options.java,
                     "': install Debian's package default-jre-headless"));
  }
  for (const char* jar : {kZooKeeper, kLogger}) {
    if (access(jar, R_OK) == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("no ", jar, ": install Debian's packages zookeeper and libslf4j-java"));
  }
  return absl::OkStatus();
}

absl::StatusOr<pid_t> LaunchServer(const LocalEnsembleOptions& options, const ServerSpec& spec,
                                   std::optional<pid_t> group) {
  if (absl::Status status = CheckInstalled(options); !status.ok()) return status;
  return Spawn({.command = CommandOf(options, spec),
                .directory = spec.directory,
                .log = spec.LogPath(),
                .group = group});
}

QuorumView Look(const std::vector<ServerSpec>& specs, ServerProcesses& processes) {
  QuorumView view;
  for (const ServerSpec& spec : specs) {
    view.modes.push_back(processes.CanAnswer(spec)
                             ? AskMode(spec.Address(), absl::Milliseconds(500))
                             : ServerMode::kNoAnswer);
  }
  return view;
}

absl::Status StartServers(const LocalEnsembleOptions& options, const std::vector<ServerSpec>& specs,
                          ServerProcesses& processes) {
  absl::Status status = processes.Launch(specs);
  const absl::Time deadline = absl::Now() + options.start_timeout;
  while (status.ok()) {
    const QuorumView view = Look(specs, processes);
    if (view.AllServe()) break;
    for (const ServerSpec& spec : specs) status.Update(processes.Check(spec));
    if (status.ok() && absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "not all servers serve after %s (%s).%s", absl::FormatDuration(options.start_timeout),
          view.Describe(), LogForMessage(specs[view.FirstNotServing()])));
    }
    absl::SleepFor(absl::Milliseconds(25));
  }
  return status;
}

absl::StatusOr<std::vector<ServerSpec>> StartNewServers(const LocalEnsembleOptions& options,
                                                        const std::string& directory,
                                                        ServerProcesses& processes) {
  constexpr int kAttempts = 5;
  absl::Status status;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    absl::StatusOr<std::vector<ServerSpec>> specs = NewServerSpecs(options, directory);
    if (!specs.ok()) return specs;
    std::error_code ignored;
    for (const ServerSpec& spec : *specs) std::filesystem::remove_all(spec.directory, ignored);
    status = StartServers(options, *specs, processes);
    if (status.ok()) return specs;
    processes.EndAll();
    if (std::none_of(specs->begin(), specs->end(), LogSaysPortTaken)) break;
  }
  return status;
}

absl::Status CannotServe(const ServerSpec& spec, const std::string& what) {
  return absl::UnavailableError(
      absl::StrCat("the server at ", spec.Address(), " ", what, ".", LogForMessage(spec)));
}

}  // namespace zkrecipes::testing
