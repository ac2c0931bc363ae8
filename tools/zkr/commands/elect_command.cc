// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/boot_time.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/holding.h"
#include "tools/zkr/commands/narrator.h"
#include "tools/zkr/commands/rest.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/supervisor.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::zkr::commands {
namespace {

using base::BootNow;
using base::BootTime;

constexpr absl::Duration kTimeForCtrlC = absl::Seconds(1);

// The terms of a `zkr elect`, one after another.
class Election {
 public:
  Election(const GlobalFlags& global, const ElectFlags& flags, supervisor::Supervisor& supervisor)
      : global_(global), flags_(flags), supervisor_(supervisor) {}

  Ended Run() {
    std::optional<Ended> ended;
    while (!ended) ended = RunTerm();
    const int later = LetGo(holding_, global_.session_timeout, /*was_lost=*/true);
    if (later != 0) ended->signal = later;
    return *ended;
  }

 private:
  // nullopt: there is a next term.
  std::optional<Ended> RunTerm() {
    const auto [elected, signal] =
        WaitInterruptibly([&](const std::stop_token& cancel) { return Campaign(cancel); });
    if (signal != 0) return Ended{{"not_acquired", kSignalBase + signal}, signal};
    if (!elected.ok()) return OnDefeat(elected);
    const std::int64_t token = holding_.lease->token().value();
    const BootTime began = BootNow();
    const supervisor::Outcome outcome = RunCommand(supervisor_, flags_.command, holding_);
    // CMD and all that it started are dead: only now may another candidate lead.
    const int later = Release(holding_, global_.session_timeout, outcome.lost);
    if (later != 0 || IsLast(outcome)) return EndedBy(outcome, token, later);
    // The next term begins with patience again.
    holding_.in_a_hurry = false;
    rest_ = rests_.After(BootNow() - began);
    // CMD may have caught a Ctrl-C that was meant for zkr too: leave time for another one.
    if (outcome.had_terminal) rest_ = std::max(rest_, kTimeForCtrlC);
    SayIfResting(flags_.command.command[0] + " ended");
    return std::nullopt;
  }

  absl::Status Campaign(const std::stop_token& cancel) {
    // The rest is spent outside the queue, where it holds up nobody, and ends with a signal.
    (void)SleepFor(rest_, cancel);
    // One session serves all terms, until it expires and the client begins another by itself.
    if (holding_.client == nullptr) {
      if (absl::Status joined = Join(global_, cancel, holding_); !joined.ok()) return joined;
    }
    if (absl::Status left = CheckNumbersLeft(*holding_.client, flags_.command.path, cancel);
        !left.ok()) {
      return left;
    }
    const LeaderElectionOptions options = {
        .marker = flags_.as_lock ? NodeMarker::kLock : NodeMarker::kLatch,
        .candidate = {.id = flags_.candidate},
        .acquire = OptionsOf(flags_.command)};
    const LeaderElection election(holding_.client, flags_.command.path, options);
    auto lease = election.Campaign({.cancel = cancel});
    if (lease.ok()) holding_.lease = *std::move(lease);
    return lease.status();
  }

  std::optional<Ended> OnDefeat(const absl::Status& why) {
    Complain(why);
    // Every other refusal comes again, whatever is tried: a bad path, denied, no ensemble.
    const bool again = StandsAgain(why, holding_.client != nullptr) && !flags_.once;
    if (!again) return Ended{ResultOf(why, kNotAcquired)};
    rest_ = rests_.After(absl::ZeroDuration());  // it has left the queue: do not come back at once
    SayIfResting(absl::IsAborted(why) ? "its node was deleted" : "it was not proven");
    return std::nullopt;
  }

  bool IsLast(const supervisor::Outcome& outcome) const {
    // Not found or not executable: the next term would fail in the same way.
    const bool useless =
        outcome.end == supervisor::Outcome::End::kNotRun && !outcome.ShortOfResources();
    return outcome.asked_to_end || outcome.later != 0 || useless ||
           !supervisor_.CanRunAgain();  // --once, or the guard was killed
  }

  void SayIfResting(const std::string& why) const {
    if (rest_ == absl::ZeroDuration()) return;
    Complain(absl::StrCat(why, ": a candidate for ", flags_.command.path, " again in ",
                          absl::FormatDuration(rest_)));
  }

  const GlobalFlags& global_;
  const ElectFlags& flags_;
  supervisor::Supervisor& supervisor_;
  Holding holding_;
  Rest rests_;
  absl::Duration rest_;  // before the next campaign
};

}  // namespace

int RunElect(const GlobalFlags& global, const ElectFlags& flags) {
  return RunGuarded(flags.command, "leadership of " + flags.command.path, /*again=*/!flags.once,
                    [&](supervisor::Supervisor& supervisor) {
                      return Election(global, flags, supervisor).Run();
                    });
}

}  // namespace zkrecipes::zkr::commands
