// SPDX-License-Identifier: Apache-2.0

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/client.h"
#include "tools/zkr/output.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/loss_watch.h"
#include "tools/zkr/supervisor/signals.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::zkr::commands {
namespace {

// Prints what an election reports. Called from one thread at a time.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  void Print(const absl::StatusOr<std::optional<Leader>>& leader) {
    if (!leader.ok()) return End(ExitCodeFor(leader.status()), leader.status());
    std::string line = json_ ? LeaderJson(*leader) : LeaderText(*leader);
    if (line == last_) return;  // only the published value has changed
    last_ = std::move(line);
    const int error = Write(last_);
    if (error == EPIPE) return End(kSignalBase + SIGPIPE, absl::OkStatus());
    if (error == 0) return;
    End(kInternal, absl::UnknownError(absl::StrCat("cannot print: ", std::strerror(error))));
  }

  // Stopped when there is nothing more to print; what follows is only for then.
  std::stop_token ended() const { return ended_.get_token(); }
  int exit_code() const { return exit_code_; }
  const absl::Status& why() const { return why_; }

 private:
  void End(int exit_code, absl::Status why) {
    if (ended_.stop_requested()) return;
    exit_code_ = exit_code;
    why_ = std::move(why);
    ended_.request_stop();
  }

  const bool json_;
  std::string last_;
  int exit_code_ = kDone;
  absl::Status why_;
  std::stop_source ended_;
};

// Waits until either stops, or our output is closed.
void WaitForEnd(const std::stop_token& interrupted, const std::stop_token& ended) {
  const supervisor::LossWatch interruption(interrupted), end(ended);
  pollfd fds[] = {{interruption.fd(), POLLIN, 0}, {end.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
  while (poll(fds, 3, -1) < 0) {
  }
}

}  // namespace

int RunObserve(const GlobalFlags& flags, const std::string& path) {
  if (const absl::Status checked = CheckPath(path); !checked.ok()) return Refuse(checked);
  const supervisor::BlockedSignals blocked;
  supervisor::Interruption interruption;
  if (!interruption.status().ok()) return Refuse(interruption.status());
  const auto client = Connect(flags, interruption.token());
  if (!client.ok()) {
    const int signal = interruption.End();
    supervisor::EndBy(signal, /*typed=*/false);
    return Refuse(client.status());
  }
  auto printer = std::make_shared<Printer>(flags.json);
  {
    const auto subscription =
        LeaderElection(*client, path).Observe([printer](auto leader) { printer->Print(leader); });
    WaitForEnd(interruption.token(), printer->ended());
  }
  const int signal = interruption.End();
  // Its session holds nothing that others wait for.
  (*client)->Close({absl::ZeroDuration()}).IgnoreError();
  supervisor::EndBy(signal, /*typed=*/false);
  if (!printer->ended().stop_requested()) return kSignalBase + SIGPIPE;
  if (!printer->why().ok()) Complain(printer->why());
  return printer->exit_code();
}

}  // namespace zkrecipes::zkr::commands
