// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/commands/health.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/diagnostic.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"
#include "tools/zkr/supervisor/supervisor.h"

namespace zkrecipes::zkr::commands {
namespace {

// A probe ends by it if CMD has ended before its shell has: of no other signal it does so.
constexpr int kEndedWithCmd = SIGPWR;

std::int64_t NowInNs() { return absl::ToInt64Nanoseconds(base::BootNow().since_boot()); }

// An errno, or 0.
int Start(const Health::Options& options, pid_t& pid) {
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.push_back(*variable);
  }
  for (const std::string& variable : options.environment) {
    environment.push_back(const_cast<char*>(variable.c_str()));
  }
  environment.push_back(nullptr);
  const char* const words[] = {kProbeName, options.command.c_str(), nullptr};
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: the terminal's signals are for CMD.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int error = posix_spawn(&pid, options.zkr.c_str(), nullptr, &attributes,
                                const_cast<char**>(words), environment.data());
  posix_spawnattr_destroy(&attributes);
  return error;
}

// False if `end` comes first.
bool Wait(int fd, const supervisor::LossWatch& end, absl::Duration at_most) {
  const base::BootTime until = base::BootNow() + at_most;
  pollfd fds[] = {{end.fd(), POLLIN, 0}, {fd, POLLIN, 0}};
  while (!end.lost() && fds[1].revents == 0 && base::BootNow() < until) {
    poll(fds, 2, end.MillisecondsTo(until));
  }
  return !end.lost();
}

// Why it has not succeeded; "" if it has. Also ends when `end` comes.
std::string RunOnce(const Health::Options& options, const supervisor::LossWatch& end,
                    absl::Duration at_most) {
  pid_t pid = 0;
  const int error = Start(options, pid);
  if (error != 0) return absl::StrCat("cannot be run: ", std::strerror(error));
  const base::BootTime began = base::BootNow();
  (void)Wait(supervisor::OpenProcess(pid).get(), end, at_most);
  siginfo_t ended = {};
  // WNOWAIT leaves the zombie: its pid cannot become another process's before the signals below.
  waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT);
  kill(pid, SIGTERM);
  kill(pid, SIGCONT);
  int status = 0;
  waitpid(pid, &status, 0);
  const bool with_cmd = WIFSIGNALED(status) && WTERMSIG(status) == kEndedWithCmd;
  // It saw CMD's end first; `end` follows, and tells whether this says anything of the probe.
  if (with_cmd) (void)Wait(-1, end, at_most - (base::BootNow() - began));
  if (ended.si_pid == 0 || with_cmd) {
    const absl::Duration waited = absl::Trunc(base::BootNow() - began, absl::Milliseconds(1));
    return absl::StrCat("gave no answer in ", absl::FormatDuration(waited));
  }
  if (WIFSIGNALED(status)) return absl::StrCat("died of signal ", WTERMSIG(status));
  if (WEXITSTATUS(status) == 0) return "";
  return absl::StrCat("failed with exit status ", WEXITSTATUS(status));
}

// What the probe has said by now: at most what a pipe holds, so that one that never stops writing
// does not keep its judge from a signal.
void PassOn(const base::UniqueFd& said) {
  char text[4096];
  ssize_t got = 0;
  for (ssize_t passed = 0; passed < 64 << 10; passed += got) {
    if ((got = read(said.get(), text, sizeof(text))) <= 0) return;
    (void)supervisor::WriteAtOnce({text, static_cast<std::size_t>(got)});
  }
}

}  // namespace

int RunProbe(std::string command) {
  const sigset_t awaited = supervisor::SignalSet({SIGCHLD, SIGTERM});
  sigprocmask(SIG_BLOCK, &awaited, nullptr);
  // CMD's descriptors are none of the probe's.
  supervisor::DetachStandardStreams({STDIN_FILENO, STDOUT_FILENO});
  close_range(STDERR_FILENO + 1, ~0U, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // It asks for zkr's end, which may have come already: the parent is another one then.
  const pid_t zkr = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  supervisor::NameThisProcess(kProbeName);
  const base::UniqueFd signals = supervisor::OpenSignalFd(awaited);
  // It lives as long as CMD's tree may. Invalid, and never ready, if it is not found.
  const base::UniqueFd runner =
      supervisor::OpenProcess(supervisor::RunnerOf(supervisor::ListProcesses(), zkr));
  // A full stderr must not keep the probe.
  supervisor::Pipe said = supervisor::ClosingPipe();
  fcntl(said.read_end.get(), F_SETFL, O_NONBLOCK);
  const pid_t shell = signals.valid() && said.read_end.valid() ? fork() : -1;
  if (shell == 0) {
    setpgid(0, 0);  // `kill 0` in a probe is not for the process that judges it
    dup2(said.write_end.get(), STDERR_FILENO);
    const sigset_t none = supervisor::SignalSet({});
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(kNotFound);
  }
  int status = shell > 0 ? SIGTERM : kExhausted << 8;  // of a shell that has not ended: no success
  for (bool ended = shell < 0; !ended && getppid() == zkr;) {
    pollfd fds[] = {
        {signals.get(), POLLIN, 0}, {runner.get(), POLLIN, 0}, {said.read_end.get(), POLLIN, 0}};
    poll(fds, 3, -1);
    PassOn(said.read_end);
    if (supervisor::NextSignal(signals) == SIGTERM) break;  // it has taken too long
    // A zkr that is stopped does not say so, and its lock may be another's by now: the guard, which
    // ends CMD then, begins with the runner.
    if (fds[1].revents != 0) {
      status = kEndedWithCmd;
      break;
    }
    supervisor::ReapEach(0, [&](pid_t reaped, int its) {
      if (reaped == shell) ended = true, status = its;
    });
  }
  supervisor::KillTree(supervisor::Cgroup(), base::BootNow() + absl::Seconds(1));
  PassOn(said.read_end);
  // By the shell's own signal, so that it is not taken for an exit status.
  if (WIFSIGNALED(status)) supervisor::EndBy(WTERMSIG(status), /*typed=*/false);
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

Health::Health(Options options, std::function<void()> succeeded)
    : options_(std::move(options)), succeeded_(std::move(succeeded)), last_ns_(NowInNs()) {
  try {
    thread_ = std::jthread([this](const std::stop_token& end) { Run(end); });
  } catch (const std::system_error&) {  // out of threads: valid() says so
  }
}

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
