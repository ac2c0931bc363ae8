// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "testing/local/detached_ensemble.h"
#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"

namespace zkr {
namespace {

using nlohmann::ordered_json;
using zkrecipes::testing::DetachedMember;
using zkrecipes::testing::DetachedStatus;

struct EnsembleFlags {
  std::optional<int> servers;
  std::string directory;
};

std::string DefaultDirectory() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  return absl::StrCat(error ? "/tmp" : parent.string(), "/zkr-ensemble-", getuid());
}

ExitCode Refuse(const absl::Status& status) {
  Complain(status);
  if (absl::IsInvalidArgument(status)) return kUsage;
  if (absl::IsPermissionDenied(status)) return kDenied;
  return absl::IsInternal(status) ? kInternal : kUnavailable;
}

void Print(const ordered_json& object) {
  std::puts(object.dump(-1, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

int Start(const GlobalFlags& global, const EnsembleFlags& flags) {
  const absl::StatusOr<std::string> servers = zkrecipes::testing::StartDetached(
      flags.directory, flags.servers, [](const std::string& line) { Complain(line); });
  if (!servers.ok()) return Refuse(servers.status());
  if (global.json) {
    Print({{"directory", flags.directory}, {"servers", *servers}});
  } else {
    std::puts(servers->c_str());
  }
  return kDone;
}

int Stop(const GlobalFlags& global, const EnsembleFlags& flags) {
  const absl::StatusOr<int> ended = zkrecipes::testing::StopDetached(flags.directory);
  const bool none = absl::IsNotFound(ended.status());
  if (!ended.ok() && !none) return Refuse(ended.status());
  Complain(none ? absl::StrCat("no ensemble in ", flags.directory)
                : absl::StrCat("stopped ", *ended, " ZooKeeper server(s)"));
  if (global.json) Print({{"directory", flags.directory}, {"stopped", ended.value_or(0)}});
  return kDone;
}

void PrintStatus(const EnsembleFlags& flags, const DetachedStatus& status) {
  ordered_json members = ordered_json::array();
  for (const DetachedMember& member : status.members) {
    members.push_back({{"server", member.server},
                       {"port", member.port},
                       {"pid", member.pid == 0 ? ordered_json() : ordered_json(member.pid)},
                       {"mode", member.mode}});
  }
  Print({{"directory", flags.directory},
         {"servers", status.servers},
         {"quorum", status.has_quorum},
         {"members", members}});
}

int ShowStatus(const GlobalFlags& global, const EnsembleFlags& flags) {
  const absl::StatusOr<DetachedStatus> status = zkrecipes::testing::LookAtDetached(flags.directory);
  if (!status.ok() && !absl::IsNotFound(status.status())) return Refuse(status.status());
  if (!status.ok()) Complain(status.status());
  const DetachedStatus shown = status.ok() ? *status : DetachedStatus();
  if (global.json) PrintStatus(flags, shown);
  for (const DetachedMember& member : shown.members) {
    if (global.json) break;
    const std::string pid = member.pid == 0 ? "-" : absl::StrCat(member.pid);
    std::printf("%-16s pid %-8s %s\n", member.server.c_str(), pid.c_str(), member.mode.c_str());
  }
  return shown.has_quorum ? kDone : kUnavailable;
}

}  // namespace

void RegisterEnsembleCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code) {
  CLI::App* ensemble = app.add_subcommand("ensemble", "A local ensemble, to try things out");
  ensemble->set_version_flag("--version", app.version());
  ensemble->require_subcommand(1);
  ensemble->fallthrough();
  auto own = std::make_shared<EnsembleFlags>();
  own->directory = DefaultDirectory();
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = ensemble->add_subcommand(name, help);
    command->set_version_flag("--version", app.version());
    command->add_option("--dir", own->directory, "Where its files are")->capture_default_str();
    return command;
  };
  CLI::App* start = add("start", "Start the servers, or those that do not run; print their list");
  start->add_option("--servers", own->servers, "How many: 1 to 9 (3 if not given)")
      ->check(CLI::Range(1, 9));
  start->callback([&flags, &exit_code, own] { exit_code = Start(flags, *own); });
  add("stop", "End the servers and remove their files")->callback([&flags, &exit_code, own] {
    exit_code = Stop(flags, *own);
  });
  add("status", "Show each server's pid and mode; fail if there is no quorum")
      ->callback([&flags, &exit_code, own] { exit_code = ShowStatus(flags, *own); });
}

}  // namespace zkr
