// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/docker_servers.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include "integration/servers/command.h"
#include "testing/local/quorum.h"
#include "testing/local/server_files.h"
#include "testing/local/server_process.h"

namespace zkrecipes::servers {
namespace {

namespace fs = std::filesystem;

using testing::LocalEnsembleOptions;
using testing::QuorumView;

constexpr int kSize = 3;
constexpr char kImage[] = "zkrecipes-zookeeper";

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

// As docker/docker-compose.yml has them; .1 is the bridge itself.
std::string AddressOf(const DockerProject& project, int i) {
  return absl::StrCat(project.network(), ".1", i + 1);
}

absl::Status CheckImage() {
  const absl::Status found = Run({"docker", "image", "inspect", "--format={{.Id}}", kImage});
  if (found.ok()) return found;
  return absl::FailedPreconditionError(
      absl::StrCat("no ensemble in docker: run this by docker/daemon.sh, after docker/image.sh "
                   "server (./dev test --docker does both). ",
                   found.message()));
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
  const absl::StatusOr<pid_t> pid = testing::SpawnOnLifeline(
      {.command = project->Command(options), .log = project->LogPath(), .group = {}},
      project->lifeline_);
  if (!pid.ok()) return pid.status();
  testing::WaitForChild(*pid);
  return project;
}

std::vector<std::string> DockerProject::Command(const LocalEnsembleOptions& options) const {
  const bool limited = options.max_lifetime != absl::InfiniteDuration();
  const int64_t seconds =
      limited ? absl::ToInt64Seconds(absl::Ceil(options.max_lifetime, absl::Seconds(1))) : 0;
  std::vector<std::string> command = Settings(options);
  // cmake/leave_nothing.sh then leaves this process the time that it needs to remove the
  // containers.
  command.insert(command.begin(), {"/usr/bin/env", "--unset=ZKRECIPES_TEST_RUN"});
  command.push_back("ZK_NETWORK=" + network_);
  for (int i = 0; i < 3; ++i) {
    command.push_back(absl::StrCat("ZK_PORT_", i + 1, "=", ports_[i]));
  }
  // The servers end by themselves even if the process that should end them is killed.
  command.push_back(absl::StrCat("ZK_MAX_LIFETIME_S=", limited ? seconds + 60 : 0));
  // No child of ours: what kills this process with all its children must leave that one. Nor may
  // the daemon end before it.
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

// ---- servers ------------------------------------------------------------------------------------

DockerServers::DockerServers(std::unique_ptr<DockerProject> project, absl::Duration start_timeout,
                             Reach reach)
    : project_(std::move(project)), start_timeout_(start_timeout) {
  for (int i = 0; i < kSize; ++i) {
    servers_.push_back(reach == Reach::kBridge ? AddressOf(*project_, i) + ":2181"
                                               : absl::StrCat("127.0.0.1:", project_->port(i)));
  }
}

DockerServers::~DockerServers() {
  // In a forked child the containers are still the parent's.
  if (!home_.IsThisProcess()) static_cast<void>(project_.release());
}

absl::StatusOr<std::unique_ptr<DockerServers>> DockerServers::Start(
    const LocalEnsembleOptions& options, Reach reach) {
  absl::Status status = CheckImage();
  if (!status.ok()) return status;
  constexpr int kAttempts = 5;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    auto project = DockerProject::Launch(options);
    if (!project.ok()) return project.status();
    std::unique_ptr<DockerServers> servers(
        new DockerServers(*std::move(project), options.start_timeout, reach));
    status = servers->WaitForStart();
    if (status.ok()) status = servers->FindContainers();
    if (status.ok()) return servers;
    if (!servers->project_->PortOrNetworkTaken()) break;
  }
  return status;
}

absl::Status DockerServers::WaitForStart() {
  const auto look = [this]() -> absl::StatusOr<QuorumView> {
    QuorumView view = testing::AskModes(servers_);
    if (view.AllServe() || !project_->Ended()) return view;
    return absl::UnavailableError("docker started no ensemble");
  };
  const absl::Status status = testing::WaitForView(look, &QuorumView::AllServe, start_timeout_);
  if (status.ok()) return status;
  return {status.code(), absl::StrCat(status.message(), ". Docker says: ", project_->LogTail())};
}

absl::Status DockerServers::FindContainers() {
  const std::string project = "label=com.docker.compose.project=" + project_->name();
  for (int i = 0; i < kSize; ++i) {
    auto id = Output({"docker", "ps", "--quiet", "--no-trunc", "--filter", project, "--filter",
                      absl::StrCat("label=com.docker.compose.service=zk", i + 1)});
    if (!id.ok()) return id.status();
    containers_.push_back(*std::move(id));
  }
  const auto network = Output({"docker", "network", "ls", "--quiet", "--filter", project});
  if (!network.ok()) return network.status();
  bridge_ = {.name = "br-" + *network, .first_address = project_->network() + ".101", .prefix = 24};
  return absl::OkStatus();
}

Host DockerServers::host(int i) const {
  const auto pid = Output({"docker", "inspect", "--format={{.State.Pid}}", containers_[i]});
  return {.address = AddressOf(*project_, i),
          .network_namespace = absl::StrCat("/proc/", pid.value_or("0"), "/ns/net")};
}

absl::StatusOr<std::string> DockerServers::StateOf(int i) const {
  return Output({"docker", "inspect", "--format={{.State.Status}}", containers_[i]});
}

absl::Status DockerServers::Kill(int i) {
  const absl::StatusOr<std::string> state = StateOf(i);
  if (!state.ok() || *state == "exited") return state.status();
  return Run({"docker", "kill", containers_[i]});
}

absl::Status DockerServers::Wipe(int i) {
  if (absl::Status killed = Kill(i); !killed.ok()) return killed;
  return Run({"docker", "run", "--rm", "--network=none", "--volumes-from=" + containers_[i],
              "--entrypoint=rm", kImage, "-rf", "/data/version-2"});
}

absl::Status DockerServers::Start(int i) {
  const absl::StatusOr<std::string> state = StateOf(i);
  if (!state.ok() || *state != "exited") return state.status();
  const absl::Status started = Run({"docker", "start", containers_[i]});
  return started.ok() ? WaitForAnswer(i) : started;
}

absl::Status DockerServers::WaitForAnswer(int i) const {
  const absl::Time deadline = absl::Now() + start_timeout_;
  while (!testing::FourLetterWord(servers_[i], "ruok", absl::Seconds(1)).ok()) {
    const absl::StatusOr<std::string> state = StateOf(i);
    if (!state.ok()) return state.status();
    if (*state == "exited") {
      return absl::UnavailableError(absl::StrCat("the server in container ", i, " ended"));
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer from the server at ", servers_[i]));
    }
    absl::SleepFor(absl::Milliseconds(25));
  }
  return absl::OkStatus();
}

absl::Status DockerServers::Change(int i, const char* from, const char* verb, const char* to) {
  const absl::StatusOr<std::string> state = StateOf(i);
  if (!state.ok() || *state == to) return state.status();
  if (*state == from) return Run({"docker", verb, containers_[i]});
  return absl::FailedPreconditionError(absl::StrCat("member ", i, " is down"));
}

absl::Status DockerServers::WaitForAll(absl::Duration timeout) {
  return testing::WaitForView([this] { return testing::AskModes(servers_); }, &QuorumView::AllServe,
                              timeout);
}

absl::StatusOr<std::vector<std::string>> DockerServers::TransactionLogs(
    const std::string& directory) {
  std::vector<std::string> copies;
  for (int i = 0; i < kSize; ++i) {
    const std::string to = absl::StrCat(directory, "/", i);
    std::error_code error;
    fs::create_directories(to, error);
    const absl::Status copied = Run({"docker", "cp", containers_[i] + ":/data/version-2/.", to});
    if (!copied.ok()) return copied;
    for (const auto& entry : fs::directory_iterator(to, error)) {
      if (absl::StartsWith(entry.path().filename().string(), "log.")) {
        copies.push_back(entry.path());
      }
    }
  }
  return copies;
}

}  // namespace zkrecipes::servers
