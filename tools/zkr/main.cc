// SPDX-License-Identifier: Apache-2.0
//
// Parses zkr's arguments and runs the command that they name. CLI11 reports errors by exceptions,
// which CommandLine::Run catches.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

#include "tools/zkr/commands/commands.h"
#include "tools/zkr/commands/health.h"
#include "tools/zkr/doctor/doctor.h"
#include "tools/zkr/flags.h"
#include "tools/zkr/help.h"
#include "tools/zkr/supervisor/process.h"
#include "zkrecipes/semaphore.h"
#include "zkrecipes/version.h"

namespace zkrecipes::zkr {
namespace {

using Words = std::vector<std::string>;

std::string DefaultDirectory() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  return absl::StrCat(error ? "/tmp" : parent.string(), "/zkr-ensemble-", getuid());
}

class CommandLine {
 public:
  // Takes what follows the first "--" off `words`: CLI11 would look for options in it.
  explicit CommandLine(Words words) : words_(std::move(words)) {
    const auto dashes = std::find(words_.begin(), words_.end(), "--");
    if (dashes != words_.end()) cmd_.emplace(dashes + 1, words_.end());
    words_.erase(dashes, words_.end());
    app_.formatter(std::make_shared<PlainHelp>());
    // Without a command zkr says which there are, and ends with 64.
    app_.require_subcommand(1);
    // The global options may also stand behind the command.
    app_.fallthrough();
    AddGlobalFlags(app_, global_);
    AddLock();
    AddElect();
    AddObserve();
    AddLs();
    AddCheck();
    AddBreak();
    AddEpoch();
    AddDoctor();
    AddEnsemble();
    AddManual();
    AddVersionFlag(app_);
  }

  int Run() {
    try {
      // CLI11 takes the words from the back.
      app_.parse(Words(words_.rbegin(), words_.rend()));
    } catch (const CLI::ParseError& error) {
      // CLI11 reports --help and --version as errors, too.
      if (error.get_exit_code() == 0) {  // --help, --version
        app_.exit(error);
        return std::cout.flush() ? kDone : CannotPrint(errno);
      }
      return Refuse(error);
    }
    return exit_code_;
  }

 private:
  void AddLock() {
    CLI::App* command = app_.add_subcommand("lock", "Run a command while holding a lock");
    command->footer(kLockHelp);
    auto* shared =
        command->add_flag("--shared", lock_.shared, "As a reader: together with other readers");
    command
        ->add_flag("--exclusive", lock_.exclusive,
                   "As a writer: alone, as by default, but shown as a writer in the queue")
        ->excludes(shared);
    AddNumber(*command, "--permits", lock_.permits, 1, Semaphore::kMostPermits,
              "As one of N at most, 1 to 1000: a semaphore, of which all name the same N");
    auto* try_only =
        command->add_flag("-n,--try,--nonblock", lock_.try_only, "Do not wait for the lock");
    auto* wait =
        AddDuration(*command, "--wait", lock_.wait, "Wait at most this long for the lock (forever)")
            ->excludes(try_only);
    AddSeconds(*command, "-w", lock_.wait, "Likewise, as flock has it")
        ->excludes(try_only)
        ->excludes(wait);
    command->add_flag("--hold", lock_.hold,
                      "Run no CMD: print token and sequencer, hold until stdin ends");
    AddDuration(*command, "--at-least", lock_.at_least,
                "If CMD succeeds, keep the lock until so long after its grant: of hosts whose "
                "clocks differ by less only one runs a short job");
    AddNumber(*command, "--conflict-exit-code", lock_.conflict_exit_code, 0, 255,
              "Exit status when the lock is not acquired, 0 to 255 (75)");
    AddCommandFlags(*command, lock_.command, "The lock: a path such as /locks/backup");
    command->callback([this, command] {
      // Refused before anything is connected: a script's mistake must not wait for a lock.
      // Callbacks run once all options are parsed, so they see the whole command line.
      if (lock_.permits && (lock_.shared || lock_.exclusive)) {
        RefuseUsage("--permits", "excludes --shared and --exclusive: a permit is neither");
      }
      if (lock_.hold && cmd_) RefuseUsage("--hold", "runs no command, but there is a --");
      if (lock_.hold && !lock_.command.probe.empty()) {
        RefuseUsage("--probe", "asks whether CMD works, and --hold runs none");
      }
      if (lock_.hold && command->count("--at-least") > 0) {
        RefuseUsage("--at-least", "keeps the lock after CMD, and --hold runs none");
      }
      if (lock_.at_least == absl::InfiniteDuration()) RefuseUsage("--at-least", "must be finite");
      if (!lock_.hold) FinishCommand(*command, cmd_, lock_.command);
      FinishStatusFd(lock_.command);
      // As flock has it: no wait at all takes a lock that is free.
      lock_.try_only |= lock_.wait == absl::ZeroDuration();
      exit_code_ = commands::RunLock(global_, lock_);
    });
  }

  void AddElect() {
    CLI::App* command = app_.add_subcommand("elect", "Run a command while leading");
    command->footer(kElectHelp);
    command->add_option("--candidate", elect_.candidate, "This candidate's name, shown to all")
        ->required()
        ->type_name("NAME");
    command->add_flag("--as-lock", elect_.as_lock,
                      "Beside Curator's LeaderSelector: name the node as a lock's");
    command->add_flag("--once", elect_.once, "Campaign and run CMD only once");
    AddCommandFlags(*command, elect_.command, "The election: a path such as /elections/scheduler");
    command->callback([this, command] {
      FinishCommand(*command, cmd_, elect_.command);
      FinishStatusFd(elect_.command);
      exit_code_ = commands::RunElect(global_, elect_);
    });
  }

  void AddObserve() {
    CLI::App* command = AddQuestion("observe", "Show who leads, and every change", kObserveHelp,
                                    [this] { return commands::RunObserve(global_, path_); });
    AddPath(*command, path_, "The election: a path such as /elections/scheduler")->required();
  }

  // A command that runs no CMD.
  CLI::App* AddQuestion(const std::string& name, const std::string& what, const std::string& footer,
                        std::function<int()> run) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->footer(footer);
    command->callback([this, name, run] {
      RefuseCommand(name);
      exit_code_ = run();
    });
    return command;
  }

  void RefuseCommand(const std::string& name) const {
    if (cmd_) RefuseUsage("CMD", name + " runs no command, but there is a --");
  }

  void AddLs() {
    CLI::App* command = AddQuestion("ls", "Show who holds a lock and who waits for it", kLsHelp,
                                    [this] { return commands::RunLs(global_, ls_); });
    AddPath(*command, ls_.path, "The lock: a path such as /locks/backup")->required();
    command->add_flag("--watch", ls_.watch, "Show every change, until interrupted");
  }

  void AddCheck() {
    AddQuestion("check", "Ask whether the holder of a sequencer still holds", kCheckHelp,
                [this] { return commands::RunCheck(global_, sequencer_); })
        ->add_option("SEQUENCER", sequencer_, "As CMD finds it in ZKR_SEQUENCER")
        ->required()
        ->type_name("");
  }

  void AddBreak() {
    CLI::App* command = AddQuestion("break", "Delete one contender", kBreakHelp,
                                    [this] { return commands::RunBreak(global_, break_); });
    AddPath(*command, break_.path, "The lock: a path such as /locks/backup")->required();
    command->add_option("--token", break_.token, "The contender's token, as `zkr ls` shows it")
        ->required()
        ->transform(Decimal())
        ->type_name("N");
  }

  void AddEpoch() {
    CLI::App* command = AddQuestion("epoch", "Show or raise the ensemble's epoch", kEpochHelp,
                                    [this] { return commands::RunEpoch(global_, epoch_); });
    auto* raise = command->add_flag("--raise", epoch_.raise,
                                    "Raise it: the ensemble was set back to an older state");
    command
        ->add_flag("--make", epoch_.make,
                   "Make its record, or make it anew, so that only the users of --digest-file "
                   "write it")
        ->excludes(raise);
    command
        ->add_option("--above", epoch_.above, "Above this one, too: the highest any resource saw")
        ->transform(Decimal(0, INT64_MAX, "a number of 0 or more"))
        ->type_name("N");
  }

  void AddDoctor() {
    CLI::App* command =
        AddQuestion("doctor", "Say what is wrong with the servers, and a lock", kDoctorHelp,
                    [this] { return doctor::RunDoctor(global_, doctor_); });
    AddPath(*command, doctor_.path,
            "A lock, an election or a path of Partitions to examine as well");
    command
        ->add_option("--seen", doctor_.seen,
                     "The highest token, and its epoch (0), that any resource has seen: was the "
                     "ensemble set back?")
        ->type_name("TOKEN[@EPOCH]");
    auto* plan = command->add_flag("--plan", doctor_.plan,
                                   "Ask no server: calculate with --session-timeout and these");
    AddDuration(*command, "--tick", doctor_.input.tick, "With --plan: the servers' tickTime (2s)")
        ->needs(plan);
    AddNumber(*command, "--sync-limit", doctor_.input.sync_limit, 1, 1000,
              "With --plan: their syncLimit (5)")
        ->needs(plan);
    AddDuration(*command, "--pause", doctor_.input.pause,
                "With --plan: the longest pause that must not cost a lease")
        ->needs(plan);
    using enum LeaseOptions::Pace;
    AddChoice(*command, "--pace", doctor_.input.pace, {{"steady", kSteady}, {"sparse", kSparse}},
              "With --plan: the clients' LeaseOptions::pace (steady)")
        ->needs(plan);
    AddNumber(*command, "--holders", doctor_.input.holders, 1, 1'000'000,
              "With --plan: how many sessions hold locks at a time (1)")
        ->needs(plan);
  }

  void AddEnsemble() {
    CLI::App* ensemble = app_.add_subcommand("ensemble", "Run a local ensemble, to try zkr on");
    ensemble->require_subcommand(1);
    ensemble->fallthrough();
    // One for each user, so that two users of a machine do not meet in /tmp.
    ensemble_.directory = DefaultDirectory();
    const auto add = [this, ensemble](const char* name, const char* help, auto run) {
      CLI::App* command = ensemble->add_subcommand(name, help);
      command->add_option("--dir", ensemble_.directory, "The directory for its files")
          ->capture_default_str();
      command->callback([this, run] {
        RefuseCommand("ensemble");
        exit_code_ = run(global_, ensemble_);
      });
      return command;
    };
    CLI::App* start =
        add("start", "Start those that are down; print all addresses", commands::StartEnsemble);
    AddNumber(*start, "--servers", ensemble_.servers, 1, 9, "How many: 1 to 9 (3 if not given)");
    AddNumber(*start, "--port", ensemble_.port, 1, 65535,
              "The first server's; the others have the next ones (any that are free)");
    add("stop", "Stop the servers and remove their files", commands::StopEnsemble);
    add("status", "Show pids and modes; fail if there is no quorum", commands::ShowEnsemble);
  }

  void AddManual() {
    AddQuestion("man", "Print the manual page zkr(1)", "",
                [this] { return Print(ManualPage(app_, ZKRECIPES_VERSION)) ? kDone : kInternal; });
    CLI::App* completion =
        AddQuestion("completion", "Print a script that completes zkr's words", "", [this] {
          return Print(zsh_ ? ZshCompletion(app_) : BashCompletion(app_)) ? kDone : kInternal;
        });
    AddChoice(*completion, "SHELL", zsh_, {{"bash", false}, {"zsh", true}},
              "The shell that runs it")
        ->required();
  }

  // Of every subcommand: CLI11 does not pass this flag down.
  static void AddVersionFlag(CLI::App& app) {
    app.set_version_flag("--version", absl::StrCat("zkr ", ZKRECIPES_VERSION));
    for (CLI::App* sub : app.get_subcommands(nullptr)) AddVersionFlag(*sub);
  }

  int Refuse(const CLI::ParseError& error) {
    const auto chosen = app_.get_subcommands();
    const std::string name = chosen.empty() ? "" : " " + chosen.front()->get_name();
    Complain(absl::StrCat(chosen.empty() ? WhyNoCommand() : WhyRefused(*chosen.front(), error),
                          " (try: zkr", name, " --help)"));
    // The one who reads the --status-fd must not wait for a result that a bad word has prevented.
    if (const int fd = FindStatusFd(words_); fd >= 0) WriteResult(fd, {"usage", kUsage});
    return kUsage;
  }

  // CLI11 only lists the words that it did not expect.
  std::string WhyRefused(const CLI::App& command, const CLI::ParseError& error) const {
    // Only these two have a CMD that may have been written without "--".
    const bool runs_cmd =
        &command == app_.get_subcommand("lock") || &command == app_.get_subcommand("elect");
    if (!runs_cmd || cmd_ || dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr)
      return error.what();
    return absl::StrCat("CMD: write -- before the command: ", UsageOf(command));
  }

  // CLI11's message for a missing or unknown command does not say which word was wrong.
  std::string WhyNoCommand() const {
    const Words unknown = app_.remaining();
    if (unknown.empty())
      return "a command is missing: lock, elect, observe, ls, check, break, epoch, doctor or "
             "ensemble";
    return absl::StrCat("no such command or option: ", unknown.front());
  }

  Words words_;
  std::optional<Words> cmd_;
  CLI::App app_{"ZooKeeper recipes from the command line", "zkr"};
  commands::GlobalFlags global_;
  commands::LockFlags lock_;
  commands::ElectFlags elect_;
  commands::EnsembleFlags ensemble_;
  commands::LsFlags ls_;
  commands::BreakFlags break_;
  commands::EpochFlags epoch_;
  doctor::DoctorFlags doctor_;
  bool zsh_ = false;
  std::string path_;  // of observe
  std::string sequencer_;
  int exit_code_ = kDone;
};

}  // namespace
}  // namespace zkrecipes::zkr

int main(int argc, char** argv) {
  // A probe of a zkr that runs: see health.h.
  if (argc == 2 && std::string(argv[0]) == zkrecipes::zkr::commands::kProbeName) {
    return zkrecipes::zkr::commands::RunProbe(argv[1]);
  }
  // Before anything opens a descriptor: it would get the number of a stream that is closed.
  zkrecipes::zkr::supervisor::OccupyStandardStreams();
  // Before anything makes a thread: this may fork.
  zkrecipes::zkr::supervisor::BeInitIfFirst();
  return zkrecipes::zkr::CommandLine({argv + 1, argv + argc}).Run();
}
