// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_start.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include "testing/local/server_process.h"

namespace zkrecipes::testing {
namespace {

absl::Status Require(bool holds, const std::string& option, const std::string& value,
                     const std::string& rule) {
  if (holds) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("LocalEnsembleOptions.%s is %s: it must be %s", option, value, rule));
}

absl::Status CheckRange(const std::string& option, int value, int least, int most) {
  return Require(value >= least && value <= most, option, absl::StrCat(value),
                 absl::StrFormat("%d to %d", least, most));
}

// ZooKeeper reads an int32 of milliseconds.
absl::Status CheckMilliseconds(const std::string& option, absl::Duration value) {
  const bool whole = absl::Trunc(value, absl::Milliseconds(1)) == value;
  return Require(whole && value > absl::ZeroDuration() &&
                     value <= absl::Milliseconds(std::numeric_limits<int>::max()),
                 option, absl::FormatDuration(value),
                 "whole milliseconds, positive, below 24 days");
}

absl::Status CheckPositive(const std::string& option, absl::Duration value) {
  return Require(value > absl::ZeroDuration(), option, absl::FormatDuration(value), "positive");
}

absl::Status CheckSessionTimeouts(const LocalEnsembleOptions& options) {
  const bool given = options.min_session_timeout != absl::ZeroDuration();
  const absl::Duration least =
      given ? absl::Duration(options.min_session_timeout) : absl::Duration(options.tick) * 2;
  const absl::Duration most = options.max_session_timeout;
  absl::Status status = CheckMilliseconds("max_session_timeout", most);
  if (given) status.Update(CheckMilliseconds("min_session_timeout", least));
  status.Update(Require(most >= least, "max_session_timeout", absl::FormatDuration(most),
                        absl::StrCat("at least the minimum, ", absl::FormatDuration(least))));
  return status;
}

absl::Status CheckAddresses(const LocalEnsembleOptions& options) {
  const std::vector<std::string>& all = options.addresses;
  absl::Status status = Require(all.empty() || all.size() == static_cast<size_t>(options.servers),
                                "addresses", absl::StrCat("of ", all.size(), " members"),
                                absl::StrCat("of all ", options.servers, ", or empty"));
  for (const std::string& address : all) {
    in_addr parsed{};
    status.Update(Require(inet_pton(AF_INET, address.c_str(), &parsed) == 1, "addresses",
                          absl::StrCat("given '", address, "'"), "numeric IPv4 addresses"));
  }
  return status;
}

absl::Status CheckExtraConfig(const std::map<std::string, std::string>& extra) {
  absl::Status status;
  for (const auto& [key, value] : extra) {
    status.Update(Require(!key.empty() && key.find_first_of(" \t\r\n=:#!\\") == std::string::npos,
                          "extra_config", absl::StrCat("given the key '", key, "'"),
                          "keys of a properties file without blanks, '=', ':', '#', '!' and '\\'"));
    status.Update(Require(value.find_first_of("\r\n\\") == std::string::npos, "extra_config",
                          absl::StrCat("given a value for '", key, "'"),
                          "values of one line, without '\\'"));
  }
  return status;
}

// The manifest of zookeeper.jar names all that it needs except something behind slf4j.
constexpr char kZooKeeper[] = "/usr/share/java/zookeeper.jar";
constexpr char kLogger[] = "/usr/share/java/slf4j-simple.jar";
// Debian's manifest forgets it: for extra_config with NettyServerCnxnFactory, which TLS takes.
constexpr char kNettyCodec[] = "/usr/share/java/netty-codec.jar";

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
      absl::StrCat(kZooKeeper, ":", kLogger, ":", kNettyCodec),
      "org.apache.zookeeper.server.quorum.QuorumPeerMain", spec.ConfigPath()};
}

}  // namespace

absl::Status CheckOptions(const LocalEnsembleOptions& options) {
  constexpr int kManyTicks = 1'000'000;
  absl::Status first;  // Update keeps it
  for (const absl::Status& status :
       {CheckRange("servers", options.servers, 1, 9), CheckAddresses(options),
        CheckRange("first_port", options.first_port, 0, 65536 - options.servers),
        CheckMilliseconds("tick", options.tick),
        CheckRange("init_limit", options.init_limit, 1, kManyTicks),
        CheckRange("sync_limit", options.sync_limit, 1, kManyTicks), CheckSessionTimeouts(options),
        CheckMilliseconds("container_check_interval", options.container_check_interval),
        CheckExtraConfig(options.extra_config),
        CheckRange("max_heap_megabytes", options.max_heap_megabytes, 32, 65536),
        CheckPositive("start_timeout", options.start_timeout),
        CheckPositive("max_lifetime", options.max_lifetime)}) {
    first.Update(status);
  }
  return first;
}

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
    view.modes.push_back(processes.CanAnswer(spec) ? AskMode(spec.Address())
                                                   : ServerMode::kNoAnswer);
  }
  return view;
}

absl::Status WaitForServers(const std::vector<ServerSpec>& specs,
                            const std::function<absl::StatusOr<QuorumView>()>& look,
                            bool (QuorumView::*holds)() const, absl::Duration timeout) {
  int missing = 0;
  const auto look_for_missing = [&] {
    absl::StatusOr<QuorumView> view = look();
    if (view.ok()) missing = view->FirstNotServing();
    return view;
  };
  const absl::Status status = WaitForView(look_for_missing, holds, timeout);
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::DeadlineExceededError(
      absl::StrCat(status.message(), ".", LogForMessage(specs[missing])));
}

absl::Status StartServers(const LocalEnsembleOptions& options, const std::vector<ServerSpec>& specs,
                          ServerProcesses& processes) {
  if (absl::Status status = processes.Launch(specs); !status.ok()) return status;
  const auto look = [&]() -> absl::StatusOr<QuorumView> {
    QuorumView view = Look(specs, processes);
    if (view.AllServe()) return view;
    absl::Status status;
    for (const ServerSpec& spec : specs) status.Update(processes.Check(spec));
    if (!status.ok()) return status;
    return view;
  };
  return WaitForServers(specs, look, &QuorumView::AllServe, options.start_timeout);
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
