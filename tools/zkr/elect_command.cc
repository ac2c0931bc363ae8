// SPDX-License-Identifier: Apache-2.0

#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "tools/zkr/holding.h"
#include "tools/zkr/rest.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/interruption.h"
#include "tools/zkr/supervisor/loss_watch.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/leader_election.h"

namespace zkr {
namespace {

using zkrecipes::base::BootNow;
using zkrecipes::base::BootTime;

constexpr char kFooter[] = R"(
Campaigns, runs CMD while leading, and campaigns again when CMD has ended or the leadership is lost;
after a CMD that ended within a second it rests first: 1 s, then longer, up to 30 s. SIGTERM and
SIGINT are passed on to CMD; once it is dead zkr resigns and ends. Of a Ctrl-C that CMD catches zkr
does not hear: the second after it is there for another one.
CMD finds ZKR_FENCING_TOKEN (the term), ZKR_SEQUENCER, ZKR_PATH and ZKR_NODE in its environment. It
and all that it starts are dead before another can lead, and die with zkr.

Exit status: that of the last CMD, 128+n if signal n ended it, or came when no CMD ran; 126, 127 CMD
cannot be run, is not found; 69 no ensemble; 77 permission denied; 64 bad arguments. With --once
also 70 the leadership was lost while CMD ran; 75 somebody deleted the candidate's node. The global
options of `zkr --help` may stand before or after `elect`.)";

constexpr absl::Duration kTimeForCtrlC = absl::Seconds(1);

struct ElectFlags {
  CommandFlags command;
  std::string candidate;
  bool once = false;
};

// What `zkr elect` does, one term after another.
class Election {
 public:
  Election(const GlobalFlags& global, const ElectFlags& flags, Supervisor& supervisor)
      : global_(global), flags_(flags), supervisor_(supervisor) {}

  Ended Run() {
    std::optional<Ended> ended;
    while (!ended) ended = RunTerm();
    LetGo(holding_, global_.session_timeout, /*was_lost=*/true);
    return *ended;
  }

 private:
  // Nothing: on to the next term.
  std::optional<Ended> RunTerm() {
    absl::Status elected;
    {
      Interruption interruption;
      elected = Campaign(interruption.token());
      if (const int signal = interruption.signal(); signal != 0) {
        return Ended{{"not_acquired", kSignalBase + signal}};
      }
    }
    if (!elected.ok()) return OnDefeat(elected);
    const std::int64_t token = holding_.lease->token().value();
    const BootTime began = BootNow();
    const Outcome outcome = RunCommand(supervisor_, flags_.command, holding_);
    // CMD and all that it started are dead: only now may another lead.
    Release(holding_, global_.session_timeout, outcome.lost);
    if (IsLast(outcome)) return Ended{ResultOf(outcome, token), outcome};
    rest_ = rests_.After(BootNow() - began);
    // CMD may have caught the Ctrl-C that was meant to end it all: time for another one.
    if (outcome.had_terminal) rest_ = std::max(rest_, kTimeForCtrlC);
    SayIfResting(flags_.command.command[0] + " ended");
    return std::nullopt;
  }

  absl::Status Campaign(const std::stop_token& cancel) {
    const LossWatch cancelled(cancel);
    pollfd until_cancelled{cancelled.fd(), POLLIN, 0};
    poll(&until_cancelled, 1, static_cast<int>(absl::ToInt64Milliseconds(rest_)));
    if (holding_.client == nullptr) {
      if (absl::Status joined = Join(global_, cancel, holding_); !joined.ok()) return joined;
    }
    zkrecipes::LeaderElection election(holding_.client, flags_.command.path,
                                       {.id = flags_.candidate});
    auto lease = election.Campaign({.cancel = cancel});
    if (lease.ok()) holding_.lease = *std::move(lease);
    return lease.status();
  }

  std::optional<Ended> OnDefeat(const absl::Status& why) {
    Complain(why);
    if (!absl::IsAborted(why) || flags_.once) return Ended{ResultOf(why, kNotAcquired)};
    rest_ = rests_.After(absl::ZeroDuration());  // somebody sent us away: not at once back again
    SayIfResting("sent away");
    return std::nullopt;
  }

  bool IsLast(const Outcome& outcome) const {
    return outcome.asked_to_end || outcome.end == Outcome::End::kNotRun ||
           !supervisor_.CanRunAgain();  // --once, or somebody killed the guard
  }

  void SayIfResting(const std::string& why) const {
    if (rest_ == absl::ZeroDuration()) return;
    Complain(absl::StrCat(why, ": a candidate for ", flags_.command.path, " again in ",
                          absl::FormatDuration(rest_)));
  }

  const GlobalFlags& global_;
  const ElectFlags& flags_;
  Supervisor& supervisor_;
  Holding holding_;
  Rest rests_;
  absl::Duration rest_;  // before the next campaign
};

}  // namespace

void RegisterElectCommand(CLI::App& app, const GlobalFlags& global, int& exit_code) {
  CLI::App* command = app.add_subcommand("elect", "Run a command while leading");
  command->footer(kFooter);
  auto flags = std::make_shared<ElectFlags>();
  command->add_option("--candidate", flags->candidate, "Who we are, for all to see")
      ->required()
      ->type_name("NAME");
  command->add_flag("--once", flags->once, "Campaign and run CMD once only");
  AddCommandFlags(*command, flags->command, "The election: a path such as /elections/scheduler");
  command->callback([command, &global, &exit_code, flags] {
    FinishCommandFlags(*command, global, flags->command);
    exit_code = RunGuarded(
        flags->command, "leadership of " + flags->command.path, /*again=*/!flags->once,
        [&](Supervisor& supervisor) { return Election(global, *flags, supervisor).Run(); });
  });
}

}  // namespace zkr
