// SPDX-License-Identifier: Apache-2.0
//
// `zkr ls` and `zkr observe`: views, of which some go on until a signal or the end of their output.

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/queue/machine/permits.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/narrator.h"
#include "tools/zkr/output.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/signals.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::zkr::commands {
namespace {

using ClientPtr = std::shared_ptr<Client>;

// Connects and calls `watch` with a token that a signal stops. Ends this process by that signal, or
// returns what `watch` did.
int GoOn(const GlobalFlags& flags,
         const std::function<int(const ClientPtr&, const std::stop_token&)>& watch) {
  const supervisor::BlockedSignals blocked;
  supervisor::Interruption interruption;
  if (!interruption.status().ok()) return Refuse(interruption.status());
  const auto client = Connect(flags, interruption.token());
  int status = kDone;
  if (client.ok()) {
    status = watch(*client, interruption.token());
    // Its session holds nothing that others wait for, so nobody minds if the close is not answered.
    (*client)->Close({absl::ZeroDuration()}).IgnoreError();
  }
  supervisor::EndBy(interruption.End(), /*typed=*/false);
  return client.ok() ? status : Refuse(client.status());
}

// The queue and, if it is a semaphore's, the number of permits, or what Partitions have there: one
// look after the other.
absl::StatusOr<QueueView> Look(Client& client, const std::string& path, const WaitOptions& wait) {
  auto queue = ListContenders(client, path, wait);
  if (!queue.ok()) return queue.status();
  QueueView view{path, *std::move(queue)};
  if (view.queue->empty()) {
    auto partitions = ReadPartitions(client, path, wait);
    if (!partitions.ok()) return partitions.status();
    view.partitions = *std::move(partitions);
  }
  if (std::ranges::none_of(*view.queue, IsPermit)) return view;
  const auto reply = AskServer(client, zk::Get{OnServer(client, path)}, wait);
  if (!reply.ok()) return reply.status();
  // Without the right to read them there are no data, and the number is unknown.
  if (const auto number = queue::machine::ParsePermits(reply->data)) {
    view.permits = static_cast<int>(*number);
  }
  return view;
}

int Show(const GlobalFlags& global, const QueueView& view) {
  if (global.json) return Print(QueueJson(view)) ? kDone : kInternal;
  if (!view.empty()) return Print(QueueText(view)) ? kDone : kInternal;
  Complain(absl::StrCat("nobody holds or waits for ", view.path));
  return kDone;
}

// On a terminal each view takes the place of the one before, and lines are cut at its edge, so that
// the holder stays on it.
std::string View(const GlobalFlags& global, const QueueView& view) {
  if (global.json) return QueueJson(view);
  const std::string text =
      view.empty() ? absl::StrCat("nobody holds or waits for ", view.path, "\n") : QueueText(view);
  // In a file or a pipe the views are kept apart by an empty line.
  if (isatty(STDOUT_FILENO) == 0) return text + "\n";
  winsize screen = {};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &screen);
  return absl::StrCat("\x1b[H\x1b[2J\x1b[?7l",
                      OnScreen(text, screen.ws_row == 0 ? 24 : screen.ws_row), "\x1b[?7h");
}

// Shows every change that it sees, looking once a second.
class Watcher {
 public:
  Watcher(const GlobalFlags& global, const std::string& path, Client& client)
      : global_(global), path_(path), client_(client) {}

  // Until a signal or its output's end. Returns zkr's exit status.
  int Watch(const std::stop_token& cancel) {
    const supervisor::LossWatch cancelled(cancel);
    for (pollfd fds[] = {{cancelled.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
         fds[0].revents == 0 && fds[1].revents == 0; poll(fds, 2, 1000)) {
      const auto view = Ask(cancel);
      // The signal came while the servers were asked.
      if (absl::IsCancelled(view.status())) break;
      if (!view.ok()) return Refuse(view.status());
      const int error = Show(View(global_, *view), cancel);
      if (error == EPIPE || error == ECANCELED) break;
      if (error != 0) return CannotPrint(error);
    }
    return cancel.stop_requested() ? kDone : kSignalBase + SIGPIPE;
  }

 private:
  absl::StatusOr<QueueView> Ask(const std::stop_token& cancel) {
    const absl::Time since = absl::Now();
    const base::BootTime begin = base::BootNow();
    const absl::Duration patience = patience_;
    auto view = Look(client_, path_, {patience, cancel});
    const auto code = view.status().code();
    const bool silent =
        code == absl::StatusCode::kDeadlineExceeded || code == absl::StatusCode::kUnavailable;
    // A long queue takes its time; an outage makes nothing slower that comes after it.
    patience_ = std::max(absl::Seconds(1), 2 * (base::BootNow() - begin));
    if (!silent) return view;
    TellSilence(since, cancel);
    view = Look(client_, path_, {absl::InfiniteDuration(), cancel});
    if (view.ok() && !global_.quiet) Complain("the servers answer again");
    last_.clear();  // so that the view is seen to be new
    // Where it is slow all the time, that is told at most a few times.
    patience_ = std::min(2 * patience, absl::Minutes(1));
    return view;
  }

  // What is shown may not be true any more.
  void TellSilence(absl::Time since, const std::stop_token& cancel) {
    if (!global_.quiet) {
      Complain(absl::StrCat("no server answers since ", TimeText(since),
                            ": the queue is unknown from then on"));
    }
    if (global_.json) Write(QueueJson({path_}), cancel);
  }

  // A busy queue that looks the same is not printed again.
  int Show(std::string view, const std::stop_token& cancel) {
    if (view == last_) return 0;
    last_ = std::move(view);
    return Write(last_, cancel);
  }

  const GlobalFlags& global_;
  const std::string& path_;
  Client& client_;
  std::string last_;
  absl::Duration patience_ = absl::Seconds(1);
};

// ---- observe -----------------------------------------------------------------------------------

// Prints what an election reports, until `cancel`. Thread-safe.
class Printer {
 public:
  Printer(bool json, std::stop_token cancel) : json_(json), cancel_(std::move(cancel)) {}

  void Print(const absl::StatusOr<std::optional<Leader>>& leader) {
    base::MutexLock lock(mutex_);
    if (!leader.ok()) return End(ExitCodeFor(leader.status()), leader.status());
    PrintLine(json_ ? LeaderJson(*leader) : LeaderText(*leader));
  }

  // In JSON the leader is unknown during an outage, and is asked for anew behind it.
  void OnOutage(bool outage) {
    base::MutexLock lock(mutex_);
    if (!json_) return;
    if (outage) PrintLine(UnknownLeaderJson());
    if (!outage) turn_.request_stop();
  }

  // A new observation begins. Stopped when another one has to take its place, or none any more.
  std::stop_token Begin() {
    base::MutexLock lock(mutex_);
    turn_ = std::stop_source();
    if (exit_code_) turn_.request_stop();
    return turn_.get_token();
  }

  // There is one when nothing more is to be printed; why not has been told.
  std::optional<int> exit_code() {
    base::MutexLock lock(mutex_);
    return exit_code_;
  }

 private:
  void PrintLine(std::string line) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (line == last_) return;  // only the published value has changed
    last_ = std::move(line);
    const int error = Write(last_, cancel_);
    if (error == EPIPE) return End(kSignalBase + SIGPIPE, absl::OkStatus());
    if (error == 0 || error == ECANCELED) return;
    End(kInternal, absl::UnknownError(absl::StrCat("cannot print: ", std::strerror(error))));
  }

  void End(int exit_code, const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (exit_code_) return;
    if (!why.ok()) Complain(why);
    exit_code_ = exit_code;
    turn_.request_stop();
  }

  const bool json_;
  const std::stop_token cancel_;
  base::Mutex mutex_;
  std::string last_ ABSL_GUARDED_BY(mutex_);
  std::stop_source turn_ ABSL_GUARDED_BY(mutex_);
  std::optional<int> exit_code_ ABSL_GUARDED_BY(mutex_);
};

// Waits until one of them stops, or our output is closed, which is returned.
bool WaitForEnd(const std::stop_token& interrupted, const std::stop_token& turn) {
  const supervisor::LossWatch interruption(interrupted), end(turn);
  pollfd fds[] = {{STDOUT_FILENO, 0, 0}, {interruption.fd(), POLLIN, 0}, {end.fd(), POLLIN, 0}};
  while (fds[0].revents == 0 && !interruption.lost() && !end.lost()) {
    poll(fds, 3, std::min(interruption.MillisecondsTo(), end.MillisecondsTo()));
  }
  return fds[0].revents != 0;
}

int Observe(const GlobalFlags& flags, const ClientPtr& client, const std::string& path,
            const std::stop_token& cancel) {
  const auto printer = std::make_shared<Printer>(flags.json, cancel);
  const OutageNotice outages(flags, *client, [printer](bool outage) { printer->OnOutage(outage); });
  while (!printer->exit_code()) {
    const std::stop_token turn = printer->Begin();
    const auto subscription =
        LeaderElection(client, path).Observe([printer](auto leader) { printer->Print(leader); });
    const bool closed = WaitForEnd(cancel, turn);
    if (closed || cancel.stop_requested()) break;
  }
  return printer->exit_code().value_or(kSignalBase + SIGPIPE);
}

}  // namespace

int RunLs(const GlobalFlags& global, const LsFlags& flags) {
  if (flags.watch) {
    return GoOn(global, [&](const ClientPtr& client, const std::stop_token& cancel) {
      return Watcher(global, flags.path, *client).Watch(cancel);
    });
  }
  const auto client = Connect(global);
  if (!client.ok()) return Refuse(client.status());
  const Late teller(global, [&global](const std::stop_token&) {
    Complain(absl::StrCat("waiting for an answer of ", global.client.servers));
  });
  const auto view = Look(**client, flags.path, {global.session_timeout});
  return view.ok() ? Show(global, *view) : Refuse(view.status());
}

int RunObserve(const GlobalFlags& flags, const std::string& path) {
  return GoOn(flags, [&](const ClientPtr& client, const std::stop_token& cancel) {
    return Observe(flags, client, path, cancel);
  });
}

}  // namespace zkrecipes::zkr::commands
