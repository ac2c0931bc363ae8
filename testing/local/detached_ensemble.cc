// SPDX-License-Identifier: Apache-2.0

#include "testing/local/detached_ensemble.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "testing/local/options.h"
#include "testing/local/owned_directory.h"
#include "testing/local/recorded_servers.h"
#include "testing/local/server_command.h"
#include "testing/local/server_log.h"

namespace zkrecipes::testing {
namespace {

namespace fs = std::filesystem;

void RemoveFiles(const std::string& directory, const EnsembleState& state) {
  std::error_code ignored;
  for (const RecordedServer& server : state.servers) fs::remove_all(server.spec.directory, ignored);
  RemoveState(directory);
}

void RemoveDirectoryIfMade(const std::string& directory, const EnsembleState& state) {
  std::error_code ignored;
  if (state.directory_made) fs::remove(directory, ignored);  // stays if something else is in it
}

absl::Status StartNewOnce(const LocalEnsembleOptions& options, const std::string& directory,
                          EnsembleState& state) {
  absl::StatusOr<std::vector<ServerSpec>> specs = NewServerSpecs(options, directory);
  if (!specs.ok()) return specs.status();
  state.servers.clear();
  for (const ServerSpec& spec : *specs) state.servers.push_back({.spec = spec});
  absl::Status status = WriteState(directory, state);
  if (status.ok()) status = WriteServerFiles(options, *specs);
  if (status.ok()) status = LaunchMissing(options, directory, state);
  if (status.ok()) status = WaitForAll(options, state);
  return status;
}

bool PortTaken(const EnsembleState& state) {
  return std::any_of(state.servers.begin(), state.servers.end(),
                     [](const RecordedServer& server) { return LogSaysPortTaken(server.spec); });
}

absl::StatusOr<std::string> StartNew(const LocalEnsembleOptions& options,
                                     const OwnedDirectory& directory, const Progress& progress) {
  if (!fs::is_empty(directory.path())) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory.path(), " holds something else: it must be absent or empty"));
  }
  EnsembleState state{.directory_made = directory.was_made(), .servers = {}};
  absl::Status status;
  constexpr int kAttempts = 5;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    progress(
        absl::StrCat("starting ", options.servers, " ZooKeeper server(s) in ", directory.path()));
    status = StartNewOnce(options, directory.path(), state);
    if (status.ok()) return ServerList(state.Specs());
    EndAll(state);
    const bool other_ports_may_do = PortTaken(state);
    RemoveFiles(directory.path(), state);
    if (!other_ports_may_do) break;
    progress("another process took a port");
  }
  RemoveDirectoryIfMade(directory.path(), state);
  return status;
}

absl::StatusOr<std::string> StartTheRest(const LocalEnsembleOptions& options,
                                         const OwnedDirectory& directory, EnsembleState state,
                                         const Progress& progress) {
  const auto missing = std::count_if(state.servers.begin(), state.servers.end(),
                                     [](const RecordedServer& server) { return !Runs(server); });
  const std::string servers = ServerList(state.Specs());
  if (missing == 0) {
    progress(absl::StrCat("an ensemble runs in ", directory.path(), " already"));
    return servers;
  }
  progress(absl::StrFormat("starting %d of %d ZooKeeper server(s) in %s again", missing,
                           state.servers.size(), directory.path()));
  absl::Status status = WriteServerFiles(options, state.Specs());
  if (status.ok()) status = LaunchMissing(options, directory.path(), state);
  if (status.ok()) status = WaitForAll(options, state);
  if (!status.ok()) return status;
  return servers;
}

}  // namespace

absl::StatusOr<std::string> StartDetached(const std::string& directory, std::optional<int> count,
                                          const Progress& progress) {
  LocalEnsembleOptions options;
  options.servers = count.value_or(options.servers);
  absl::Status status = CheckOptions(options);
  if (status.ok()) status = ServerCommand(options, ServerSpec()).status();
  if (!status.ok()) return status;
  const absl::StatusOr<OwnedDirectory> locked = OwnedDirectory::Lock(directory, true);
  if (!locked.ok()) return locked.status();
  absl::StatusOr<EnsembleState> state = ReadState(locked->path());
  if (absl::IsNotFound(state.status())) return StartNew(options, *locked, progress);
  if (!state.ok()) return state.status();
  if (count.has_value() && *count != static_cast<int>(state->servers.size())) {
    return absl::InvalidArgumentError(absl::StrFormat("the ensemble in %s has %d server(s), not %d",
                                                      locked->path(), state->servers.size(),
                                                      *count));
  }
  return StartTheRest(options, *locked, *std::move(state), progress);
}

absl::StatusOr<DetachedStatus> LookAtDetached(const std::string& directory) {
  const absl::StatusOr<EnsembleState> state = ReadState(directory);
  if (!state.ok()) return state.status();
  const QuorumView view = LookAt(*state);
  DetachedStatus status{
      .servers = ServerList(state->Specs()), .has_quorum = view.HasQuorum(), .members = {}};
  for (size_t i = 0; i < state->servers.size(); ++i) {
    const RecordedServer& server = state->servers[i];
    const bool runs = Runs(server);
    status.members.push_back({.server = server.spec.Address(),
                              .port = server.spec.client_port,
                              .pid = runs ? server.pid : 0,
                              .mode = runs ? ToString(view.modes[i]) : "down"});
  }
  return status;
}

absl::StatusOr<int> StopDetached(const std::string& directory) {
  const absl::StatusOr<OwnedDirectory> locked = OwnedDirectory::Lock(directory, false);
  if (!locked.ok()) return locked.status();
  const absl::StatusOr<EnsembleState> state = ReadState(locked->path());
  if (!state.ok()) return state.status();
  const int ended = EndAll(*state);
  RemoveFiles(locked->path(), *state);
  RemoveDirectoryIfMade(locked->path(), *state);
  return ended;
}

}  // namespace zkrecipes::testing
