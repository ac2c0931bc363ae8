// SPDX-License-Identifier: Apache-2.0

#include "testing/local/guard.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"

#include "testing/local/spawn.h"

namespace zkrecipes::testing {
namespace {

// `cat` reads the lifeline, where nothing ever arrives but its end. --foreground keeps `timeout` and
// `cat` in the group; 0 seconds means no limit; 137 is what it says when the time was up. SIGHUP: the
// kernel sends it to a group that is orphaned with a stopped member, and `timeout` takes it for an
// end too. The directory goes before the group, since afterwards no process is left to remove it; when
// the time was up it stays, for its logs.
constexpr char kScript[] =
    "trap '' HUP INT TERM\n"
    "timeout --foreground --signal=KILL \"$1\" cat >/dev/null\n"
    "[ $? -eq 137 ] || rm -rf -- \"$2\"\n"
    "kill -KILL 0";

std::string Seconds(absl::Duration lifetime) {
  if (lifetime == absl::InfiniteDuration()) return "0";
  return absl::StrCat(absl::ToInt64Seconds(absl::Ceil(lifetime, absl::Seconds(1))));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Guard>> Guard::Start(absl::Duration max_lifetime,
                                                    const std::string& temporary_directory) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError("cannot make a socket pair");
  }
  const base::UniqueFd guards_end(ends[0]);
  base::UniqueFd our_end(ends[1]);
  absl::StatusOr<pid_t> pid = Spawn({.command = {"/bin/sh", "-c", kScript, "zkrecipes-guard",
                                                 Seconds(max_lifetime), temporary_directory},
                                     .stdin_fd = guards_end.get(),
                                     .group = 0});
  if (!pid.ok()) return pid.status();
  return std::unique_ptr<Guard>(new Guard(*pid, std::move(our_end)));
}

Guard::~Guard() {
  shutdown(lifeline_.get(), SHUT_RDWR);  // where close would not do: a forked child may hold it too
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace zkrecipes::testing
