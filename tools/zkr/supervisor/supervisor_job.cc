// SPDX-License-Identifier: Apache-2.0
// The supervisor's CMD as the shell's job: signals, stops, the terminal, its end.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/signals.h"
#include "tools/zkr/supervisor/supervisor.h"

namespace zkrecipes::zkr::supervisor {

using base::BootNow;

void Supervisor::HandleRunner(const LossWatch& loss) {
  auto message = runner_.Receive();
  if (!message) return runner_.Close();
  OnRunnerMessage(*message, loss);
}

void Supervisor::OnRunnerMessage(Message& message, const LossWatch& loss) {
  switch (message.kind) {
    case MessageKind::kForked:
      now_.command_group = static_cast<pid_t>(message.value);
      return;
    case MessageKind::kStarted:
      now_.runner = static_cast<pid_t>(message.value);
      return;
    case MessageKind::kExecFailed:
      return OnNotRun(static_cast<int>(message.value));
    case MessageKind::kStopped:
      return OnStopped(static_cast<int>(message.value));
    case MessageKind::kEnded:
      return OnEnded(message, loss);
    default:
      return;
  }
}

void Supervisor::HandleSignals() {
  for (SentSignal sent; (sent = NextSentSignal(signal_fd_)).number != 0;) {
    const int signal = sent.number;
    // CMD has ended, so there is nobody to pass it on to: the signal is for zkr.
    if (now_.phase == Phase::kEnding) {
      if (!AsksToEnd(signal)) continue;
      OnSignalAfterEnd(signal);
    } else if (signal == SIGCONT) {
      Resume(MayHaveTerminal());
    } else {
      // Remembered: if CMD dies of it, zkr has to die of it, too.
      now_.forwarded.insert(signal);
      const MessageKind how = AsksToEnd(signal) ? MessageKind::kPassOn : MessageKind::kSignal;
      // A runner that is gone already has not read it: its kEnded, which comes next, says so.
      runner_.TrySend({.kind = how, .value = signal, .second = sent.sender});
      if (how == MessageKind::kPassOn) now_.passed_on.push_back(signal);
    }
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
      now_.outcome.asked_to_end = true;
    }
  }
}

void Supervisor::OnSignalAfterEnd(int signal) {
  if (BlockedSignals::IsIgnored(signal)) return;  // under nohup
  // The copy of a signal to the whole tree: CMD has died of it, and it asks for nothing more.
  if (JustEndedBy(signal)) {
    now_.outcome.signal = signal;
    return;
  }
  // Whoever asks again has no patience: what CMD left behind gets no grace.
  now_.outcome.later = signal;
  KillTree();
}

bool Supervisor::JustEndedBy(int signal) const {
  // A zkr that was slow finds both late.
  return now_.outcome.end == Outcome::End::kKilled && now_.outcome.code == signal &&
         MayBeTogether();
}

void Supervisor::OnStopped(int signal) {
  const pid_t foreground = terminal_.Foreground();
  const bool typed = foreground != 0 && foreground == now_.command_group;
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  const bool forwarded = signal == SIGTSTP && now_.forwarded.erase(SIGTSTP) > 0;
  // Anything else, such as a `kill -STOP` of CMD, is not job control: the lock stays held.
  if (!typed && !wants_terminal && !forwarded) return;
  // zkr was brought to the foreground meanwhile (fg), so CMD may read.
  if (wants_terminal && foreground == getpgrp()) return Resume(true);
  // The shell takes the terminal only from the job that it knows, which is zkr's group.
  TakeTerminalBack();
  if (StopOwnJob(/*whole_group=*/!forwarded)) return Resume(MayHaveTerminal());
  if (typed) return Resume(true);
  // No shell is there to bring it to the foreground. The kernel does the same to a stopped process
  // group that becomes an orphan.
  if (wants_terminal) SendSignal(SIGHUP);
  Resume(false);
}

void Supervisor::OnEnded(const Message& ended, const LossWatch& loss) {
  const int status = static_cast<int>(ended.value);
  const bool killed = WIFSIGNALED(status);
  now_.outcome.end = killed ? Outcome::End::kKilled : Outcome::End::kExited;
  now_.outcome.code = killed ? WTERMSIG(status) : WEXITSTATUS(status);
  // The time that counts is the runner's, not when zkr reads of it: zkr may have been stopped.
  now_.outcome.lost = now_.given_up_at <= ended.sent || loss.WasLostBefore(ended.sent);
  now_.phase = Phase::kEnding;
  now_.ended_at = ended.sent;
  // By then its leftovers have had their grace, and have been killed: as far as they can be.
  now_.complain_at = BootNow() + command_.grace + absl::Seconds(6);
  // Many runtimes exit with such a status when a signal ends them, as shells do for their children.
  const int signal = killed ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
  const bool forwarded = now_.forwarded.count(signal) > 0;
  if (killed && (forwarded || signal == SIGHUP)) {
    now_.outcome.asked_to_end = true;
    now_.outcome.signal = signal;
  }
  // Signals that came too late for CMD are for zkr.
  for (const char kept : ended.text) OnSignalAfterEnd(kept);
  for (; ended.second < std::ssize(now_.passed_on); now_.passed_on.pop_back())
    OnSignalAfterEnd(now_.passed_on.back());
  // Before zkr writes or ends: a process in the background is stopped when it uses the terminal.
  now_.outcome.had_terminal = TakeTerminalBack();
  if (!now_.outcome.had_terminal) return;
  if (killed) terminal_.RestoreModes();
  // Nobody sent it to zkr, and CMD had the terminal: it was typed.
  if (forwarded || (signal != SIGINT && signal != SIGQUIT)) return;
  now_.outcome.asked_to_end = true;
  now_.outcome.typed = killed;
  if (killed) now_.outcome.signal = signal;
}

void Supervisor::OnNotRun(int error) {
  now_.outcome.end = Outcome::End::kNotRun;
  now_.outcome.code = error;
  now_.phase = Phase::kEnding;
  KillTree();
}

void Supervisor::Resume(bool foreground) {
  runner_.TrySend({MessageKind::kResume, foreground ? 1 : 0});
}

bool Supervisor::MayHaveTerminal() const {
  // If another part of a pipeline (`zkr lock ... | less`) is in zkr's group, CMD gets the terminal
  // only when it reads from it (SIGTTIN): given at once, it would be taken from the other part.
  return terminal_.Foreground() == getpgrp() && !HasSiblingInGroup(ListProcesses(), getpid());
}

bool Supervisor::TakeTerminalBack() {
  const pid_t foreground = terminal_.Foreground();
  if (foreground == 0 || foreground != now_.command_group) return false;
  terminal_.SetForeground(getpgrp());
  return true;
}

void EndBy(int signal, bool typed) {
  if (signal == 0) return;
  prctl(PR_SET_DUMPABLE, 0);  // CMD may have left a core already
  ::signal(signal, SIG_DFL);
  const sigset_t set = SignalSet({signal});
  // The rest of the group, such as the shell of a loop, before this process: afterwards it could
  // not.
  if (typed) kill(0, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

}  // namespace zkrecipes::zkr::supervisor
