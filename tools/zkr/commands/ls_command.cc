// SPDX-License-Identifier: Apache-2.0

#include <poll.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/output.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/loss_watch.h"
#include "tools/zkr/supervisor/signals.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::zkr::commands {
namespace {

using Queue = std::vector<ContenderInfo>;

int Show(const GlobalFlags& global, const std::string& path, const Queue& queue) {
  if (global.json) return Print(QueueJson(path, queue)) ? kDone : kInternal;
  if (!queue.empty()) return Print(QueueText(queue)) ? kDone : kInternal;
  Complain(absl::StrCat("nobody holds or waits for ", path));
  return kDone;
}

// On a terminal each view takes the place of the one before.
std::string View(const GlobalFlags& global, const std::string& path, const Queue& queue) {
  if (global.json) return QueueJson(path, queue);
  const std::string text =
      queue.empty() ? absl::StrCat("nobody holds or waits for ", path, "\n") : QueueText(queue);
  return isatty(STDOUT_FILENO) != 0 ? "\x1b[H\x1b[2J" + text : text + "\n";
}

// Shows every change that it sees, looking once a second, until a signal or its output's end.
int Watch(const GlobalFlags& global, const std::string& path, Client& client,
          const std::stop_token& cancel) {
  const supervisor::LossWatch cancelled(cancel);
  std::string last;
  for (pollfd fds[] = {{cancelled.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
       fds[0].revents == 0 && fds[1].revents == 0; poll(fds, 2, 1000)) {
    const auto queue = ListContenders(client, path, {absl::InfiniteDuration(), cancel});
    if (absl::IsCancelled(queue.status())) break;
    if (!queue.ok()) return Refuse(queue.status());
    std::string view = View(global, path, *queue);
    if (view == last) continue;
    last = std::move(view);
    const int error = Write(last);
    if (error == EPIPE) break;
    if (error != 0) return CannotPrint(error);
  }
  return cancel.stop_requested() ? kDone : kSignalBase + SIGPIPE;
}

}  // namespace

int RunLs(const GlobalFlags& global, const LsFlags& flags) {
  if (const absl::Status checked = CheckPath(flags.path); !checked.ok()) return Refuse(checked);
  const auto client = Connect(global);
  if (!client.ok()) return Refuse(client.status());
  if (!flags.watch) {
    const auto queue = ListContenders(**client, flags.path, {global.session_timeout});
    return queue.ok() ? Show(global, flags.path, *queue) : Refuse(queue.status());
  }
  const supervisor::BlockedSignals blocked;
  supervisor::Interruption interruption;
  if (!interruption.status().ok()) return Refuse(interruption.status());
  const int status = Watch(global, flags.path, **client, interruption.token());
  const int signal = interruption.End();
  (*client)->Close({absl::ZeroDuration()}).IgnoreError();
  supervisor::EndBy(signal, /*typed=*/false);
  return status;
}

}  // namespace zkrecipes::zkr::commands
