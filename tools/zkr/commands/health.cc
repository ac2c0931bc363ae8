// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/health.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr::commands {
namespace {

std::int64_t NowInNs() { return absl::ToInt64Nanoseconds(base::BootNow().since_boot()); }

// The arguments of one posix_spawn.
class Spawn {
 public:
  Spawn() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    // CMD's descriptors are none of the probe's; stderr stays, for what it complains of.
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    // A group of its own, so that all that it starts can be killed with it.
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawn() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  // An errno, or 0.
  int Shell(const std::string& command, const std::vector<std::string>& added, pid_t& pid) const {
    std::vector<char*> environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      environment.push_back(*variable);
    }
    for (const std::string& variable : added) {
      environment.push_back(const_cast<char*>(variable.c_str()));
    }
    environment.push_back(nullptr);
    const char* const words[] = {"sh", "-c", command.c_str(), nullptr};
    return posix_spawn(&pid, "/bin/sh", &actions_, &attributes_, const_cast<char**>(words),
                       environment.data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// False if `end` comes first.
bool Wait(int fd, const supervisor::LossWatch& end, absl::Duration at_most) {
  pollfd fds[] = {{end.fd(), POLLIN, 0}, {fd, POLLIN, 0}};
  while (poll(fds, 2, static_cast<int>(absl::ToInt64Milliseconds(at_most))) < 0) {
  }
  return fds[0].revents == 0;
}

// Why it has not succeeded; "" if it has. Also ends when `end` comes.
std::string RunOnce(const Health::Options& options, const supervisor::LossWatch& end,
                    absl::Duration at_most) {
  pid_t pid = 0;
  const int error = Spawn().Shell(options.command, options.environment, pid);
  if (error != 0) return absl::StrCat("cannot be run: ", std::strerror(error));
  const base::BootTime began = base::BootNow();
  (void)Wait(supervisor::OpenProcess(pid).get(), end, at_most);
  siginfo_t ended = {};
  // WNOWAIT leaves the zombie: its group cannot become another process's before the kill below.
  waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT);
  kill(-pid, SIGKILL);  // also what it has left behind
  int status = 0;
  waitpid(pid, &status, 0);
  if (ended.si_pid == 0) {
    const absl::Duration waited = absl::Trunc(base::BootNow() - began, absl::Milliseconds(1));
    return absl::StrCat("gave no answer in ", absl::FormatDuration(waited));
  }
  if (WIFSIGNALED(status)) return absl::StrCat("died of signal ", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "";
  return absl::StrCat("failed with exit status ", WEXITSTATUS(status));
}

}  // namespace

Health::Health(Options options, std::function<void()> succeeded)
    : options_(std::move(options)),
      succeeded_(std::move(succeeded)),
      last_ns_(NowInNs()),
      thread_([this](const std::stop_token& end) { Run(end); }) {}

bool Health::InDoubt() const {
  return absl::Nanoseconds(NowInNs() - last_ns_.load()) > options_.alive_within / 2;
}

void Health::Run(const std::stop_token& stop) {
  const supervisor::LossWatch end(stop);
  const absl::Duration pause = options_.alive_within / 4;
  bool told = false;
  // The pause comes first: CMD has just been started.
  while (Wait(-1, end, pause)) {
    const std::string failure = RunOnce(options_, end, options_.alive_within / 2);
    // The command may have been ended for the doubt before a probe that hangs has had its time.
    if (stop.stop_requested() && !InDoubt()) return;
    if (failure.empty()) {
      // Both clocks begin anew: this one, which ends CMD, and that of the lease, which is later.
      last_ns_.store(NowInNs());
      succeeded_();
      // Told once for each row of failures: a probe runs every few seconds.
    } else if (!told) {
      Complain(absl::StrCat("the probe ", failure, ": without a success within ",
                            absl::FormatDuration(options_.alive_within),
                            " of the last one the lock is given up"));
    }
    told = !failure.empty();
  }
}

}  // namespace zkrecipes::zkr::commands
