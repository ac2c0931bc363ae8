// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/init.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"

namespace zkrecipes::zkr::supervisor {
namespace {

// Ends this process once `child` has ended.
void Reap(pid_t child) {
  int status = 0;
  for (pid_t reaped = 0; (reaped = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (reaped != child) continue;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

}  // namespace

void BeInitIfFirst() {
  if (getpid() != 1) return;
  const BlockedSignals signals;
  const pid_t child = fork();
  if (child <= 0) return signals.Undo();  // without a child, zkr does its work as PID 1
  DetachStandardStreams({STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO});
  sigset_t all = ForwardedSignals();
  sigaddset(&all, SIGCHLD);
  for (;;) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&all, &info);
    Reap(child);
    // What the terminal sends, it sends to the child as well.
    if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL) kill(child, signal);
  }
}

}  // namespace zkrecipes::zkr::supervisor
