// SPDX-License-Identifier: Apache-2.0

#include "testing/local/detached_ensemble.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "testing/local/server_process.h"
#include "testing/local/server_start.h"
#include "testing/local/state_file.h"

namespace zkrecipes::testing {
namespace {

namespace fs = std::filesystem;

bool Runs(const RecordedServer& server) {
  return ForeignProcess::Find(server.pid, server.start_time).has_value();
}

// SIGTERM, and SIGKILL when patience ends. Returns how many ran.
int End(const EnsembleState& state) {
  constexpr absl::Duration kPatience = absl::Seconds(10);
  std::vector<ForeignProcess> running;
  for (const RecordedServer& server : state.servers) {
    auto process = ForeignProcess::Find(server.pid, server.start_time);
    if (process.has_value()) running.push_back(*std::move(process));
  }
  for (ForeignProcess& process : running) {
    process.Signal(SIGTERM);
    process.Signal(SIGCONT);  // a stopped process takes the other signal only then
  }
  const absl::Time deadline = absl::Now() + kPatience;
  for (ForeignProcess& process : running) {
    if (process.WaitForEnd(deadline - absl::Now())) continue;
    process.Signal(SIGKILL);
    process.WaitForEnd(kPatience);
  }
  return static_cast<int>(running.size());
}

// The servers of the ensemble that a directory's state file records, which may be no children of
// this process.
class Daemons : public ServerProcesses {
 public:
  Daemons(const LocalEnsembleOptions& options, std::string directory, EnsembleState state)
      : options_(options), directory_(std::move(directory)), state_(std::move(state)) {}

  // Each pid is recorded at once: the next command finds the servers even if this process dies on
  // the way.
  absl::Status Launch(const std::vector<ServerSpec>& specs) override {
    if (state_.servers.empty()) {
      for (const ServerSpec& spec : specs) state_.servers.push_back({.spec = spec});
    }
    absl::Status status = WriteState(directory_, state_);
    if (status.ok()) status = WriteServerFiles(options_, specs);
    for (RecordedServer& server : state_.servers) {
      if (!status.ok()) break;
      if (Runs(server)) continue;
      const absl::StatusOr<pid_t> pid = LaunchServer(options_, server.spec, std::nullopt);
      if (!pid.ok()) return pid.status();
      server.pid = *pid;
      server.start_time = StartTimeOf(*pid);
      status = WriteState(directory_, state_);
    }
    return status;
  }

  absl::Status Check(const ServerSpec& spec) override {
    return CanAnswer(spec) ? absl::OkStatus() : CannotServe(spec, "ended by itself");
  }

  bool CanAnswer(const ServerSpec& spec) override {
    return Runs(state_.servers[static_cast<size_t>(spec.id - 1)]);
  }

  void EndAll() override {
    static_cast<void>(End(state_));
    state_.servers.clear();
  }

 private:
  const LocalEnsembleOptions& options_;
  const std::string directory_;
  EnsembleState state_;
};

void RemoveFiles(const std::string& directory, bool directory_made, int servers) {
  std::error_code ignored;
  for (int id = 1; id <= servers; ++id) fs::remove_all(ServerDirectory(directory, id), ignored);
  RemoveState(directory);
  if (directory_made) fs::remove(directory, ignored);  // stays if something else is in it
}

// Of an ensemble that is there already.
absl::Status CheckWishes(const DetachedWishes& wishes, const std::string& directory,
                         const std::vector<ServerSpec>& there) {
  const int servers = static_cast<int>(there.size());
  if (wishes.servers.value_or(servers) != servers) {
    return absl::InvalidArgumentError(absl::StrFormat("the ensemble in %s has %d server(s), not %d",
                                                      directory, servers, *wishes.servers));
  }
  const int port = there.front().client_port;
  if (wishes.first_port.value_or(port) != port) {
    return absl::InvalidArgumentError(absl::StrFormat("the ensemble in %s has port %d, not %d",
                                                      directory, port, *wishes.first_port));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> StartNew(const LocalEnsembleOptions& options,
                                     const OwnedDirectory& directory, const Progress& progress) {
  if (!fs::is_empty(directory.path())) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory.path(), " holds something else: it must be absent or empty"));
  }
  progress(
      absl::StrCat("starting ", options.servers, " ZooKeeper server(s) in ", directory.path()));
  Daemons daemons(options, directory.path(),
                  {.directory_made = directory.was_made(), .servers = {}});
  const absl::StatusOr<std::vector<ServerSpec>> specs =
      StartNewServers(options, directory.path(), daemons);
  if (specs.ok()) return ServerList(*specs);
  RemoveFiles(directory.path(), directory.was_made(), options.servers);
  return specs.status();
}

absl::StatusOr<std::string> StartTheRest(const LocalEnsembleOptions& options,
                                         const OwnedDirectory& directory, EnsembleState state,
                                         const Progress& progress) {
  const auto missing = std::count_if(state.servers.begin(), state.servers.end(),
                                     [](const RecordedServer& server) { return !Runs(server); });
  const std::vector<ServerSpec> specs = state.Specs();
  if (missing == 0) {
    progress(absl::StrCat("an ensemble runs in ", directory.path(), " already"));
    return ServerList(specs);
  }
  progress(absl::StrFormat("starting %d of %d ZooKeeper server(s) in %s again", missing,
                           state.servers.size(), directory.path()));
  Daemons daemons(options, directory.path(), std::move(state));
  if (absl::Status status = StartServers(options, specs, daemons); !status.ok()) return status;
  return ServerList(specs);
}

}  // namespace

absl::StatusOr<std::string> StartDetached(const std::string& directory,
                                          const DetachedWishes& wishes, const Progress& progress) {
  LocalEnsembleOptions options;
  options.servers = wishes.servers.value_or(options.servers);
  options.first_port = wishes.first_port.value_or(options.first_port);
  absl::Status status = CheckOptions(options);
  if (status.ok()) status = CheckInstalled(options);
  if (!status.ok()) return status;
  const absl::StatusOr<OwnedDirectory> locked = OwnedDirectory::Lock(directory, true);
  if (!locked.ok()) return locked.status();
  absl::StatusOr<EnsembleState> state = ReadState(locked->path());
  if (absl::IsNotFound(state.status())) return StartNew(options, *locked, progress);
  if (!state.ok()) return state.status();
  status = CheckWishes(wishes, locked->path(), state->Specs());
  if (!status.ok()) return status;
  return StartTheRest(options, *locked, *std::move(state), progress);
}

absl::StatusOr<DetachedStatus> LookAtDetached(const std::string& directory) {
  const absl::StatusOr<EnsembleState> state = ReadState(directory);
  if (!state.ok()) return state.status();
  DetachedStatus status{.servers = ServerList(state->Specs()), .members = {}};
  QuorumView view;
  for (const RecordedServer& server : state->servers) {
    const std::string address = server.spec.Address();
    const bool runs = Runs(server);
    view.modes.push_back(runs ? AskMode(address) : ServerMode::kNoAnswer);
    status.members.push_back({.server = address,
                              .port = server.spec.client_port,
                              .pid = runs ? server.pid : 0,
                              .mode = runs ? ToString(view.modes.back()) : "down"});
  }
  status.has_quorum = view.HasQuorum();
  return status;
}

absl::StatusOr<int> StopDetached(const std::string& directory) {
  const absl::StatusOr<OwnedDirectory> locked = OwnedDirectory::Lock(directory, false);
  if (!locked.ok()) return locked.status();
  const absl::StatusOr<EnsembleState> state = ReadState(locked->path());
  if (!state.ok()) return state.status();
  const int ended = End(*state);
  RemoveFiles(locked->path(), state->directory_made, static_cast<int>(state->servers.size()));
  return ended;
}

}  // namespace zkrecipes::testing
