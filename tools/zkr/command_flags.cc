// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/command_flags.h"

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace zkr {
namespace {

// Says where the command line ends and CMD begins, which CLI11 cannot.
std::string UsageOf(const CLI::App& command) {
  return absl::StrCat("zkr ", command.get_name(), " [OPTIONS] PATH -- CMD [ARG...]");
}

class CommandHelp : public PlainHelp {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    return absl::StrCat("Usage: ", UsageOf(*app), "\n");
  }
};

GuardKind GuardFromEnvironment() {
  const char* text = std::getenv("ZKR_GUARD");
  const std::string kind = text == nullptr ? "auto" : text;
  if (kind == "auto") return GuardKind::kAuto;
  if (kind == "namespace") return GuardKind::kNamespace;
  if (kind == "process") return GuardKind::kProcess;
  RefuseUsage("ZKR_GUARD", absl::StrCat("\"", kind, "\" is not auto, namespace or process"));
}

}  // namespace

std::string CheckNumber(const std::string& text, int max) {
  int number = 0;
  const bool in_range = absl::SimpleAtoi(text, &number) && number >= 0 && number <= max;
  return in_range ? "" : absl::StrCat("\"", text, "\" is not a number from 0 to ", max);
}

void AddCommandFlags(CLI::App& command, CommandFlags& flags, const std::string& path_help) {
  command.formatter(std::make_shared<CommandHelp>());
  command.add_option("PATH", flags.path, path_help)->required()->type_name("");
  AddDuration(command, "--grace", flags.grace,
              "Between SIGTERM and SIGKILL, if the lease lasts as long (5s)");
  command.add_option("--status-fd", flags.status_fd, "Write one JSON object there at the end")
      ->type_name("N")
      ->check([](const std::string& text) { return CheckNumber(text, INT_MAX); });
}

void FinishCommandFlags(const CLI::App& command, const GlobalFlags& global, CommandFlags& flags) {
  if (!global.command) RefuseUsage("CMD", absl::StrCat("missing: write ", UsageOf(command)));
  if (global.command->empty()) RefuseUsage("CMD", "missing after --");
  if (flags.grace == absl::InfiniteDuration()) RefuseUsage("--grace", "must be finite");
  flags.command = *global.command;
  flags.guard = GuardFromEnvironment();
  if (flags.status_fd < 0) return;
  if (fcntl(flags.status_fd, F_GETFD) < 0) {
    RefuseUsage("--status-fd", absl::StrCat(flags.status_fd, " is not open"));
  }
  // It is for us, not for CMD: else whoever reads it sees no end as long as CMD's children live.
  if (flags.status_fd > STDERR_FILENO) fcntl(flags.status_fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace zkr
