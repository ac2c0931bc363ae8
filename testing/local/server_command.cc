// SPDX-License-Identifier: Apache-2.0

#include "testing/local/server_command.h"

#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

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

}  // namespace

absl::StatusOr<std::vector<std::string>> ServerCommand(const LocalEnsembleOptions& options,
                                                       const ServerSpec& spec) {
  const std::string java = FindJava(options.java);
  if (java.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("no Java at '", options.java.empty() ? "/usr/bin/java" : options.java,
                     "': install Debian's package default-jre-headless"));
  }
  for (const char* jar : {kZooKeeper, kLogger}) {
    if (access(jar, R_OK) == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("no ", jar, ": install Debian's packages zookeeper and libslf4j-java"));
  }
  const int64_t containers = absl::ToInt64Milliseconds(options.container_check_interval);
  return std::vector<std::string>{
      java, absl::StrCat("-Xmx", options.max_heap_megabytes, "m"),
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

}  // namespace zkrecipes::testing
