// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/docker_servers.h"

#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"

#include "integration/servers/command.h"
#include "testing/local/four_letter_word.h"
#include "testing/local/quorum.h"

namespace zkrecipes::servers {
namespace {

namespace fs = std::filesystem;

using testing::QuorumView;

constexpr int kSize = 3;
constexpr char kImage[] = "zkrecipes-zookeeper";
constexpr absl::Duration kPollInterval = absl::Milliseconds(25);

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
    const testing::LocalEnsembleOptions& options, Reach reach) {
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
  const absl::Time deadline = absl::Now() + start_timeout_;
  for (QuorumView view = testing::AskModes(servers_); !view.AllServe();
       view = testing::AskModes(servers_)) {
    if (project_->Ended()) {
      return absl::UnavailableError("docker started no ensemble: " + project_->LogTail());
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "not all servers in docker serve after %s (%s): %s", absl::FormatDuration(start_timeout_),
          view.Describe(), project_->LogTail()));
    }
    absl::SleepFor(kPollInterval);
  }
  return absl::OkStatus();
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

std::string DockerServers::list() const { return absl::StrJoin(servers_, ","); }

Host DockerServers::host(int i) const {
  const auto pid = Output({"docker", "inspect", "--format={{.State.Pid}}", containers_[i]});
  return {.address = AddressOf(*project_, i),
          .network_namespace = absl::StrCat("/proc/", pid.value_or("0"), "/ns/net")};
}

absl::StatusOr<int> DockerServers::Leader() { return testing::AskModes(servers_).Leader(); }

absl::StatusOr<std::string> DockerServers::StateOf(int i) const {
  return Output({"docker", "inspect", "--format={{.State.Status}}", containers_[i]});
}

absl::Status DockerServers::Stop(int i) {
  return Run({"docker", "stop", "--time=10", containers_[i]});
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
    absl::SleepFor(kPollInterval);
  }
  return absl::OkStatus();
}

absl::Status DockerServers::Pause(int i) {
  const absl::StatusOr<std::string> state = StateOf(i);
  if (!state.ok() || *state == "paused") return state.status();
  if (*state == "running") return Run({"docker", "pause", containers_[i]});
  return absl::FailedPreconditionError(absl::StrCat("member ", i, " is down"));
}

absl::Status DockerServers::Resume(int i) {
  const absl::StatusOr<std::string> state = StateOf(i);
  if (!state.ok() || *state == "running") return state.status();
  if (*state == "paused") return Run({"docker", "unpause", containers_[i]});
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
