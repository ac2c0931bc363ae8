// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/lock_flags.h"

namespace zkr {
namespace {

constexpr char kFooter[] = R"(
CMD finds ZKR_FENCING_TOKEN, ZKR_SEQUENCER, ZKR_PATH and ZKR_NODE in its environment. It and all
that it starts are dead before the lock is released or can be granted to others, and die with zkr.

Exit status: CMD's own, 128+n if signal n ended it; 75 the lock was not acquired; 70 it was lost
while CMD ran; 69 no ensemble; 77 permission denied; 64 bad arguments; 126, 127 CMD cannot be run,
is not found. The global options of `zkr --help` may stand before or after `lock`.)";

}  // namespace

void AddLockFlags(CLI::App& command, LockFlags& flags) {
  command.footer(kFooter);
  auto* shared =
      command.add_flag("--shared", flags.shared, "As a reader: together with other readers");
  command
      .add_flag("--exclusive", flags.exclusive,
                "As a writer: alone, as without it, but named so in the queue")
      ->excludes(shared);
  auto* try_only = command.add_flag("--try", flags.try_only, "Do not wait for the lock");
  AddDuration(command, "--wait", flags.wait, "Wait so long for the lock at most (for ever)")
      ->excludes(try_only);
  command
      .add_option("--conflict-exit-code", flags.conflict_exit_code,
                  "Exit status when the lock is not acquired, 0 to 255 (75)")
      ->type_name("N")
      ->check([](const std::string& text) { return CheckNumber(text, 255); });
  AddCommandFlags(command, flags.command, "The lock: a path such as /locks/backup");
}

}  // namespace zkr
