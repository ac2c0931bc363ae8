// SPDX-License-Identifier: Apache-2.0
// The supervisor's CMD as the shell's job: signals, stops, the terminal, its end.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "tools/zkr/supervisor/process_tree.h"
#include "tools/zkr/supervisor/relay.h"
#include "tools/zkr/supervisor/supervisor.h"

namespace zkrecipes::zkr::supervisor {

using base::BootNow;

void Supervisor::HandleRunner(const LossWatch& loss) {
  auto message = runner_.Receive();
  if (!message) return runner_.Close();
  OnRunnersWord(*message, loss);
}

void Supervisor::OnRunnersWord(Message& message, const LossWatch& loss) {
  switch (message.kind) {
    case MessageKind::kForked:
      now_.command_group = message.sender;
      now_.runner_end = std::move(message.passed);
      return;
    case MessageKind::kStarted:
      now_.runner = message.sender;
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
    if (now_.phase == Phase::kEnding) {
      if (!AsksToEnd(signal)) continue;
      OnSignalAfterEnd(signal);
    } else if (signal == SIGCONT) {
      Resume(MayHaveTerminal());
    } else {
      now_.forwarded.insert(signal);
      const MessageKind how = AsksToEnd(signal) ? MessageKind::kPassOn : MessageKind::kSignal;
      // A runner that is gone already has not read it: its kEnded, which comes next, says so.
      runner_.TrySend({how, sent.Packed()});
      if (how == MessageKind::kPassOn) now_.passed_on.push_back(signal);
    }
    if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
      now_.outcome.asked_to_end = true;
    }
  }
}

void Supervisor::OnSignalAfterEnd(int signal) {
  if (BlockedSignals::IsIgnored(signal)) return;  // under nohup
  if (JustEndedBy(signal)) {
    now_.outcome.signal = signal;
    return;
  }
  now_.outcome.later = signal;
  KillTree();
}

bool Supervisor::JustEndedBy(int signal) const {
  return now_.outcome.end == Outcome::End::kKilled && now_.outcome.code == signal &&
         BootNow() < now_.ended_at + Relay::kTogether;
}

void Supervisor::OnStopped(int signal) {
  const pid_t foreground = terminal_.Foreground();
  const bool typed = foreground != 0 && foreground == now_.command_group;
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  const bool forwarded = signal == SIGTSTP && now_.forwarded.erase(SIGTSTP) > 0;
  // Anything else, such as a `kill -STOP` of CMD, is not job control: the lock stays held.
  if (!typed && !wants_terminal && !forwarded) return;
  if (wants_terminal && foreground == getpgrp()) return Resume(true);
  TakeTerminalBack();
  if (StopOwnJob(/*whole_group=*/!forwarded)) return Resume(MayHaveTerminal());
  if (typed) return Resume(true);
  // No shell is there to bring it to the foreground. The kernel does the same to a stopped process
  // group that becomes an orphan.
  if (wants_terminal) SendSignal(SIGHUP);
  Resume(false);
}

void Supervisor::OnEnded(const Message& ended, const LossWatch& loss) {
  const auto [status, heard] = EndOfCommand::Unpacked(ended.value);
  const bool killed = WIFSIGNALED(status);
  now_.outcome.end = killed ? Outcome::End::kKilled : Outcome::End::kExited;
  now_.outcome.code = killed ? WTERMSIG(status) : WEXITSTATUS(status);
  now_.outcome.lost = now_.given_up_at <= ended.sent || loss.WasLostBefore(ended.sent);
  now_.phase = Phase::kEnding;
  now_.ended_at = ended.sent;
  // Many runtimes exit with such a status when a signal ends them, as shells do for their children.
  const int signal = killed ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
  const bool forwarded = now_.forwarded.count(signal) > 0;
  if (killed && (forwarded || signal == SIGHUP)) {
    now_.outcome.asked_to_end = true;
    now_.outcome.signal = signal;
  }
  // What came for CMD, and too late for it, is for zkr.
  for (const char kept : ended.text) OnSignalAfterEnd(kept);
  for (; heard < std::ssize(now_.passed_on); now_.passed_on.pop_back())
    OnSignalAfterEnd(now_.passed_on.back());
  now_.outcome.had_terminal = TakeTerminalBack();
  if (!now_.outcome.had_terminal) return;
  if (killed) terminal_.RestoreModes();
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
  if (typed) kill(0, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
}

}  // namespace zkrecipes::zkr::supervisor
