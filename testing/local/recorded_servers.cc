// SPDX-License-Identifier: Apache-2.0

#include "testing/local/recorded_servers.h"

#include <signal.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "testing/local/foreign_process.h"
#include "testing/local/server_command.h"
#include "testing/local/server_log.h"
#include "testing/local/spawn.h"

namespace zkrecipes::testing {

bool Runs(const RecordedServer& server) {
  return ForeignProcess::Find(server.pid, server.start_time).has_value();
}

QuorumView LookAt(const EnsembleState& state) {
  QuorumView view;
  for (const RecordedServer& server : state.servers) {
    view.modes.push_back(Runs(server) ? AskMode(server.spec.Address(), absl::Milliseconds(500))
                                      : ServerMode::kNoAnswer);
  }
  return view;
}

absl::Status LaunchMissing(const LocalEnsembleOptions& options, const std::string& directory,
                           EnsembleState& state) {
  for (RecordedServer& server : state.servers) {
    if (Runs(server)) continue;
    absl::StatusOr<std::vector<std::string>> command = ServerCommand(options, server.spec);
    if (!command.ok()) return command.status();
    const absl::StatusOr<pid_t> pid = Spawn({.command = *std::move(command),
                                             .directory = server.spec.directory,
                                             .log = server.spec.LogPath(),
                                             .group = std::nullopt});
    if (!pid.ok()) return pid.status();
    server.pid = *pid;
    server.start_time = StartTimeOf(*pid);
    if (absl::Status status = WriteState(directory, state); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status WaitForAll(const LocalEnsembleOptions& options, const EnsembleState& state) {
  const absl::Time deadline = absl::Now() + options.start_timeout;
  for (QuorumView view = LookAt(state); !view.AllServe(); view = LookAt(state)) {
    for (const RecordedServer& server : state.servers) {
      if (Runs(server)) continue;
      return absl::UnavailableError(absl::StrFormat("the server at %s ended by itself.%s",
                                                    server.spec.Address(),
                                                    LogForMessage(server.spec)));
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(absl::StrFormat(
          "not all servers serve after %s (%s).%s", absl::FormatDuration(options.start_timeout),
          view.Describe(), LogForMessage(state.servers[view.FirstNotServing()].spec)));
    }
    absl::SleepFor(absl::Milliseconds(25));
  }
  return absl::OkStatus();
}

int EndAll(const EnsembleState& state) {
  constexpr absl::Duration kPatience = absl::Seconds(10);
  std::vector<ForeignProcess> running;
  for (const RecordedServer& server : state.servers) {
    auto process = ForeignProcess::Find(server.pid, server.start_time);
    if (process.has_value()) running.push_back(*std::move(process));
  }
  for (ForeignProcess& process : running) {
    process.Signal(SIGTERM);
    process.Signal(SIGCONT);  // a stopped one takes the other signal only then
  }
  const absl::Time deadline = absl::Now() + kPatience;
  for (ForeignProcess& process : running) {
    if (process.WaitForEnd(deadline - absl::Now())) continue;
    process.Signal(SIGKILL);
    process.WaitForEnd(kPatience);
  }
  return static_cast<int>(running.size());
}

}  // namespace zkrecipes::testing
