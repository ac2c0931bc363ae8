// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/docker_project.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "testing/local/server_files.h"
#include "testing/local/spawn.h"

namespace zkrecipes::servers {
namespace {

using testing::LocalEnsembleOptions;

std::string Milliseconds(absl::Duration duration) {
  return absl::StrCat(absl::ToInt64Milliseconds(duration));
}

// The variables of docker/server/entrypoint.sh.
std::vector<std::string> Settings(const LocalEnsembleOptions& options) {
  std::vector<std::string> settings = {
      "ZK_TICK_MS=" + Milliseconds(options.tick),
      absl::StrCat("ZK_INIT_LIMIT=", options.init_limit),
      absl::StrCat("ZK_SYNC_LIMIT=", options.sync_limit),
      "ZK_MAX_SESSION_TIMEOUT_MS=" + Milliseconds(options.max_session_timeout),
      "ZK_CONTAINER_CHECK_MS=" + Milliseconds(options.container_check_interval),
      absl::StrCat("ZK_FORCE_SYNC=", options.force_sync ? "yes" : "no"),
      absl::StrCat("ZK_HEAP_MB=", options.max_heap_megabytes),
      absl::StrCat("ZK_EXTRA_CONFIG=",
                   absl::StrJoin(options.extra_config, "\n", absl::PairFormatter("="))),
  };
  if (options.min_session_timeout != absl::ZeroDuration()) {
    settings.push_back("ZK_MIN_SESSION_TIMEOUT_MS=" + Milliseconds(options.min_session_timeout));
  }
  return settings;
}

std::string RandomName() {
  absl::BitGen random;
  return absl::StrFormat("zkrecipes-%08x", absl::Uniform<uint32_t>(random));
}

// Free, most likely; docker refuses it if it is not.
std::string RandomNetwork() {
  absl::BitGen random;
  return absl::StrCat("10.", absl::Uniform(random, 128, 255), ".", absl::Uniform(random, 0, 255));
}

}  // namespace

DockerProject::DockerProject(std::vector<int> ports)
    : log_(memfd_create("compose.log", MFD_CLOEXEC)),
      name_(RandomName()),
      ports_(std::move(ports)),
      network_(RandomNetwork()) {}

absl::StatusOr<std::unique_ptr<DockerProject>> DockerProject::Launch(
    const LocalEnsembleOptions& options) {
  auto ports = testing::FreePorts(3);
  if (!ports.ok()) return ports.status();
  std::unique_ptr<DockerProject> project(new DockerProject(*std::move(ports)));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError("cannot make a socket pair");
  }
  const base::UniqueFd its_end(ends[0]);
  project->lifeline_ = base::UniqueFd(ends[1]);

  const absl::StatusOr<pid_t> pid = testing::Spawn({.command = project->Command(options),
                                                    .stdin_fd = its_end.get(),
                                                    .log = project->LogPath(),
                                                    .group = {}});
  if (!pid.ok()) return pid.status();
  while (waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return project;
}

std::vector<std::string> DockerProject::Command(const LocalEnsembleOptions& options) const {
  int64_t seconds = 0;  // no limit
  if (options.max_lifetime != absl::InfiniteDuration()) {
    seconds = absl::ToInt64Seconds(absl::Ceil(options.max_lifetime, absl::Seconds(1)));
  }
  std::vector<std::string> command = Settings(options);
  command.insert(command.begin(), "/usr/bin/env");
  command.push_back("ZK_NETWORK=" + network_);
  for (int i = 0; i < 3; ++i) {
    command.push_back(absl::StrCat("ZK_PORT_", i + 1, "=", ports_[i]));
  }
  // The servers end by themselves even if the process that should end them is killed.
  command.push_back(absl::StrCat("ZK_MAX_LIFETIME_S=", seconds == 0 ? 0 : seconds + 60));
  // No child of ours: what kills this process with all its children must leave that one. Nor may the
  // daemon end before it.
  command.insert(command.end(),
                 {"setsid", "--fork", ZKRECIPES_DOCKER_DIR "/daemon.sh",
                  ZKRECIPES_DOCKER_DIR "/ensemble.sh", name_, absl::StrCat(seconds)});
  return command;
}

DockerProject::~DockerProject() {
  shutdown(lifeline_.get(), SHUT_WR);  // where close would not do: a forked child may hold it too
  pollfd end{.fd = lifeline_.get(), .events = POLLIN, .revents = 0};
  poll(&end, 1, 60'000);
}

bool DockerProject::Ended() const {
  pollfd end{.fd = lifeline_.get(), .events = POLLIN, .revents = 0};
  return poll(&end, 1, 0) == 1;
}

bool DockerProject::PortOrNetworkTaken() const {
  const std::string log = LogTail();
  return absl::StrContains(log, "port is already allocated") ||
         absl::StrContains(log, "address already in use") ||
         absl::StrContains(log, "Pool overlaps");
}

// Of this process, not of the child: `self` would be the child's table.
std::string DockerProject::LogPath() const {
  return absl::StrCat("/proc/", getpid(), "/fd/", log_.get());
}

std::string DockerProject::LogTail() const { return testing::TailOf(LogPath(), 20); }

}  // namespace zkrecipes::servers
