// SPDX-License-Identifier: Apache-2.0

#include "verification/partitions/service.h"

#include <csignal>
#include <filesystem>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/time/time.h"

#include "testing/local/work_directory.h"

namespace zkrecipes::verification {

Service::Service(std::vector<std::string> program, std::vector<std::string> arguments,
                 std::string logs)
    : program_(std::move(program)), arguments_(std::move(arguments)), logs_(std::move(logs)) {}

absl::Status Service::Start(const std::string& id) {
  testing::ServerProcess& process = members_[id];
  if (process.pid() != 0) process.Terminate(absl::Seconds(20));
  std::vector<std::string> command = program_;
  command.push_back(id);
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  const auto pid = testing::Spawn(
      {.command = command, .directory = std::filesystem::current_path(), .log = LogOf(id)});
  if (!pid.ok()) return pid.status();
  process.Adopt(*pid);
  return absl::OkStatus();
}

void Service::Stop(const std::string& id) {
  if (const pid_t pid = Of(id).pid(); pid != 0) kill(pid, SIGTERM);
}

void Service::StopAll() {
  for (auto& [id, process] : members_) {
    if (process.pid() != 0) process.Terminate(absl::Seconds(20));
  }
}

nlohmann::json Service::Told() const {
  nlohmann::json told;
  for (const auto& [id, process] : members_) {
    told[id] = std::vector<std::string>(
        absl::StrSplit(testing::ReadFile(LogOf(id)), '\n', absl::SkipEmpty()));
  }
  return told;
}

}  // namespace zkrecipes::verification
