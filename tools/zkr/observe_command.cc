// SPDX-License-Identifier: Apache-2.0

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "tools/zkr/owner.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/loss_watch.h"
#include "tools/zkr/supervisor/signals.h"
#include "tools/zkr/table.h"
#include "zkrecipes/leader_election.h"

namespace zkr {
namespace {

using nlohmann::ordered_json;
using zkrecipes::Leader;

constexpr char kFooter[] = R"(
Prints a line for the leader of now and one for every change, "nobody leads" included, until it is
interrupted or nobody reads its output any more. What changes while the connection is lost is told
once it is back; of several changes in a row the last one is told for certain.

Exit status: 128+n ended by signal n (130 for Ctrl-C), also 141 if nobody reads the output; 69 no
ensemble; 77 permission denied; 64 bad arguments. The global options of `zkr --help`, such as
--json, may stand before or after `observe`.)";

std::string TextOf(const std::optional<Leader>& leader) {
  if (!leader) return FormatTable({{"-", "nobody leads"}});
  return FormatTable(
      {{OwnerText(leader->owner), "leads", "token " + leader->token.ToString(), leader->node}});
}

std::string JsonOf(const std::optional<Leader>& leader) {
  ordered_json json = {{"candidate", nullptr}};
  if (leader) {
    json = {{"candidate", leader->owner.id},
            {"token", leader->token.value()},
            {"node", leader->node},
            {"owner", OwnerJson(leader->owner)}};
  }
  return ToLine(json) + "\n";
}

// Prints what an election says. Called from one thread at a time.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) {}

  void Print(const absl::StatusOr<std::optional<Leader>>& leader) {
    if (!leader.ok()) return End(ExitCodeFor(leader.status()), leader.status());
    std::string line = json_ ? JsonOf(*leader) : TextOf(*leader);
    if (line == last_) return;  // only the published value has changed
    last_ = std::move(line);
    if (std::fputs(last_.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return;
    if (errno == EPIPE) return End(kSignalBase + SIGPIPE, absl::OkStatus());
    End(kInternal, absl::UnknownError(absl::StrCat("cannot print: ", std::strerror(errno))));
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

// Waits until either stops, or nobody can read what we print.
void WaitForEnd(const std::stop_token& interrupted, const std::stop_token& ended) {
  const LossWatch interruption(interrupted), end(ended);
  pollfd fds[] = {{interruption.fd(), POLLIN, 0}, {end.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
  while (poll(fds, 3, -1) < 0) {
  }
}

int Refuse(const absl::Status& status) {
  Complain(status);
  return ExitCodeFor(status);
}

int Observe(const GlobalFlags& flags, const std::string& path) {
  if (flags.command) RefuseUsage("CMD", "observe runs none, but there is a --");
  if (const absl::Status checked = CheckPath(path); !checked.ok()) return Refuse(checked);
  // SIGPIPE, too: a line that nobody reads is an error like any other.
  const BlockedSignals blocked;
  Interruption interruption;
  const auto client = Connect(flags, interruption.token());
  if (interruption.signal() != 0) return kSignalBase + interruption.signal();
  if (!client.ok()) return Refuse(client.status());
  auto printer = std::make_shared<Printer>(flags.json);
  {
    const auto subscription =
        zkrecipes::LeaderElection(*client, path).Observe([printer](auto leader) {
          printer->Print(leader);
        });
    WaitForEnd(interruption.token(), printer->ended());
  }
  (*client)->Close({flags.session_timeout}).IgnoreError();
  if (interruption.signal() != 0) return kSignalBase + interruption.signal();
  if (!printer->ended().stop_requested()) return kSignalBase + SIGPIPE;
  if (!printer->why().ok()) Complain(printer->why());
  return printer->exit_code();
}

}  // namespace

void RegisterObserveCommand(CLI::App& app, const GlobalFlags& flags, int& exit_code) {
  CLI::App* command = app.add_subcommand("observe", "Show who leads, and every change");
  command->footer(kFooter);
  auto path = std::make_shared<std::string>();
  command->add_option("PATH", *path, "The election: a path such as /elections/scheduler")
      ->required()
      ->type_name("");
  command->callback([&flags, &exit_code, path] { exit_code = Observe(flags, *path); });
}

}  // namespace zkr
