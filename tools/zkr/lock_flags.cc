// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/lock_flags.h"

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace zkr {
namespace {

constexpr char kFooter[] = R"(
CMD finds ZKR_FENCING_TOKEN, ZKR_SEQUENCER, ZKR_PATH and ZKR_NODE in its environment. It and all
that it starts are dead before the lock is released or can be granted to others, and die with zkr.

Exit status: CMD's own, 128+n if signal n ended it; 75 the lock was not acquired; 70 it was lost
while CMD ran; 69 no ensemble; 77 permission denied; 64 bad arguments; 126, 127 CMD cannot be run,
is not found. The global options of `zkr --help` may stand before or after `lock`.)";

// Says where the command line ends and CMD begins, which CLI11 cannot.
class LockHelp : public PlainHelp {
 public:
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: zkr lock [OPTIONS] PATH -- CMD [ARG...]\n";
  }
};

// Unlike CLI::Range, is not shown in the help.
std::string CheckRange(const std::string& text, int max) {
  int number = 0;
  const bool in_range = absl::SimpleAtoi(text, &number) && number >= 0 && number <= max;
  return in_range ? "" : absl::StrCat("\"", text, "\" is not a number from 0 to ", max);
}

GuardKind GuardFromEnvironment() {
  const char* text = std::getenv("ZKR_GUARD");
  const std::string kind = text == nullptr ? "auto" : text;
  if (kind == "auto") return GuardKind::kAuto;
  if (kind == "namespace") return GuardKind::kNamespace;
  if (kind == "process") return GuardKind::kProcess;
  RefuseUsage("ZKR_GUARD", absl::StrCat("\"", kind, "\" is not auto, namespace or process"));
}

}  // namespace

void AddLockFlags(CLI::App& command, LockFlags& flags) {
  command.formatter(std::make_shared<LockHelp>());
  command.footer(kFooter);
  command.add_option("PATH", flags.path, "The lock: a path such as /locks/backup")
      ->required()
      ->type_name("");
  auto* try_only = command.add_flag("--try", flags.try_only, "Do not wait for the lock");
  AddDuration(command, "--wait", flags.wait, "Wait so long for the lock at most (for ever)")
      ->excludes(try_only);
  AddDuration(command, "--grace", flags.grace,
              "Between SIGTERM and SIGKILL, if the lock lasts as long (5s)");
  command
      .add_option("--conflict-exit-code", flags.conflict_exit_code,
                  "Exit status when the lock is not acquired, 0 to 255 (75)")
      ->type_name("N")
      ->check([](const std::string& text) { return CheckRange(text, 255); });
  command.add_option("--status-fd", flags.status_fd, "Write one JSON object there at the end")
      ->type_name("N")
      ->check([](const std::string& text) { return CheckRange(text, INT_MAX); });
}

void FinishLockFlags(const GlobalFlags& global, LockFlags& flags) {
  if (!global.command) RefuseUsage("CMD", "missing: write zkr lock [OPTIONS] PATH -- CMD [ARG...]");
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
