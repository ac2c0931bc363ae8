// SPDX-License-Identifier: Apache-2.0
//
// The only source that knows CLI11, which reports errors by exceptions: RunCommandLine catches
// them.

#include "tools/zkr/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "tools/zkr/commands.h"
#include "tools/zkr/help.h"
#include "tools/zkr/manual.h"
#include "zkrecipes/version.h"

namespace zkrecipes::zkr {
namespace {

using Words = std::vector<std::string>;

// Throws the usage error "NAME: MESSAGE".
[[noreturn]] void RefuseUsage(const std::string& name, const std::string& message) {
  throw CLI::ValidationError(name, message);
}

// How --help shows options: name, type and purpose, and none of CLI11's own notes.
class PlainHelp : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    return type.empty() ? "" : " " + type;
  }
};

// Shows where the command line ends and CMD begins, which CLI11 cannot.
std::string UsageOf(const CLI::App& command) {
  return absl::StrCat("zkr ", command.get_name(), " [OPTIONS] PATH -- CMD [ARG...]");
}

class CommandHelp : public PlainHelp {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    return absl::StrCat("Usage: ", UsageOf(*app), "\n");
  }
};

// An option in the style of Go and Abseil ("500ms", "10s", "1m30s"), not negative.
CLI::Option* AddDuration(CLI::App& app, const std::string& name, absl::Duration& value,
                         const std::string& help) {
  const auto parse = [name, &value](const CLI::results_t& texts) {
    const std::string quoted = absl::StrCat("\"", texts.back(), "\"");
    if (!absl::ParseDuration(texts.back(), &value)) {
      RefuseUsage(name, quoted + " is not a duration: write a number and a unit, such as 500ms");
    }
    if (value < absl::ZeroDuration()) RefuseUsage(name, quoted + " is negative");
    return true;
  };
  return app.add_option(name, parse, help)->type_name("DURATION")->expected(1);
}

// Seconds as flock(1) takes them: a number, fractions too.
CLI::Option* AddSeconds(CLI::App& app, const std::string& name, absl::Duration& value,
                        const std::string& help) {
  const auto parse = [name, &value](const CLI::results_t& texts) {
    double seconds = 0;
    if (!absl::SimpleAtod(texts.back(), &seconds) || !(seconds >= 0)) {
      RefuseUsage(name, absl::StrCat("\"", texts.back(), "\" is not a number of seconds"));
    }
    value = absl::Seconds(seconds);
    return true;
  };
  return app.add_option(name, parse, help)->type_name("SECONDS")->expected(1);
}

// A number from 0 to `max`. Unlike with CLI::Range, --help does not show the range.
void AddNumber(CLI::App& app, const std::string& name, int& value, int max,
               const std::string& help) {
  app.add_option(name, value, help)->type_name("N")->check([max](const std::string& text) {
    int number = 0;
    const bool in_range = absl::SimpleAtoi(text, &number) && number >= 0 && number <= max;
    return in_range ? "" : absl::StrCat("\"", text, "\" is not a number from 0 to ", max);
  });
}

void AddPath(CLI::App& command, std::string& path, const std::string& help) {
  command.add_option("PATH", path, help)->required()->type_name("");
}

void AddGlobalFlags(CLI::App& app, GlobalFlags& flags) {
  app.add_option("--servers", flags.servers,
                 "The servers; optionally the node below which paths begin\n"
                 "(default: ZKR_SERVERS)")
      ->envname("ZKR_SERVERS")
      ->type_name("HOST:PORT,...[/NAMESPACE]");
  AddDuration(app, "--session-timeout", flags.session_timeout,
              "How long the ensemble waits for a silent client (10s)");
  app.add_option("--dialect", flags.dialect, "How nodes are named (curator)")
      ->type_name("curator|kazoo")
      ->check([](const std::string& name) {
        return name == "curator" || name == "kazoo" ? ""
                                                    : "\"" + name + "\" is not curator or kazoo";
      });
  app.add_flag("--json", flags.json, "Print JSON");
  auto* quiet = app.add_flag("-q,--quiet", flags.quiet, "Do not tell of waits and outages");
  app.add_flag("--verbose", flags.verbose, "Tell of them at once, not after a second")
      ->excludes(quiet);
}

void AddCommandFlags(CLI::App& command, CommandFlags& flags, const std::string& path_help) {
  command.formatter(std::make_shared<CommandHelp>());
  AddPath(command, flags.path, path_help);
  AddDuration(command, "--grace", flags.grace,
              "Time between SIGTERM and SIGKILL, if the lease lasts that long (5s)");
  AddNumber(command, "--status-fd", flags.status_fd, INT_MAX,
            "Write one JSON object to this descriptor at the end");
  const std::map<std::string, GuardKind> kinds = {
      {"auto", GuardKind::kAuto}, {"cgroup", GuardKind::kCgroup}, {"process", GuardKind::kProcess}};
  auto* guard =
      command
          .add_option("--guard", flags.guard,
                      "How CMD's tree is kept together, to be killed: by a cgroup where one\n"
                      "can be made (auto), by a cgroup, or by its processes' parents (process)")
          ->type_name("auto|cgroup|process")
          ->transform(CLI::CheckedTransformer(kinds).description(""));
  command
      .add_flag_callback(
          "--isolate", [&flags] { flags.guard = GuardKind::kIsolate; },
          "Run CMD in a PID namespace with a /proc of its own (root)")
      ->excludes(guard);
}

// Checks that need the whole command line. `cmd`: the words after the first "--", if there is one.
void FinishCommand(const CLI::App& command, const std::optional<Words>& cmd, CommandFlags& flags) {
  if (!cmd) RefuseUsage("CMD", absl::StrCat("missing: write ", UsageOf(command)));
  if (cmd->empty()) RefuseUsage("CMD", "missing after --");
  if (flags.grace == absl::InfiniteDuration()) RefuseUsage("--grace", "must be finite");
  flags.command = *cmd;
}

void FinishStatusFd(const CommandFlags& flags) {
  if (flags.status_fd < 0) return;
  if (fcntl(flags.status_fd, F_GETFD) < 0) {
    RefuseUsage("--status-fd", absl::StrCat(flags.status_fd, " is not open"));
  }
  // It is for zkr, not for CMD: its reader would see no end while CMD's children live.
  if (flags.status_fd > STDERR_FILENO) fcntl(flags.status_fd, F_SETFD, FD_CLOEXEC);
}

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
    app_.require_subcommand(1);
    app_.fallthrough();
    AddGlobalFlags(app_, global_);
    AddLock();
    AddElect();
    AddPathCommand("observe", "Show who leads, and every change", kObserveHelp,
                   "The election: a path such as /elections/scheduler", RunObserve);
    AddLs();
    AddPathCommand("check", "Ask whether the holder of a sequencer still holds", kCheckHelp,
                   "As CMD finds it in ZKR_SEQUENCER", RunCheck);
    AddBreak();
    AddEnsemble();
    AddManual();
    AddVersionFlag(app_);
  }

  int Run() {
    try {
      app_.parse(Words(words_.rbegin(), words_.rend()));
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app_.exit(error);  // --help, --version
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
    AddNumber(*command, "--conflict-exit-code", lock_.conflict_exit_code, 255,
              "Exit status when the lock is not acquired, 0 to 255 (75)");
    AddCommandFlags(*command, lock_.command, "The lock: a path such as /locks/backup");
    command->callback([this, command] {
      if (lock_.hold && cmd_) RefuseUsage("--hold", "runs no command, but there is a --");
      if (!lock_.hold) FinishCommand(*command, cmd_, lock_.command);
      FinishStatusFd(lock_.command);
      exit_code_ = RunLock(global_, lock_);
    });
  }

  void AddElect() {
    CLI::App* command = app_.add_subcommand("elect", "Run a command while leading");
    command->footer(kElectHelp);
    command->add_option("--candidate", elect_.candidate, "This candidate's name, shown to all")
        ->required()
        ->type_name("NAME");
    command->add_flag("--once", elect_.once, "Campaign and run CMD only once");
    AddCommandFlags(*command, elect_.command, "The election: a path such as /elections/scheduler");
    command->callback([this, command] {
      FinishCommand(*command, cmd_, elect_.command);
      FinishStatusFd(elect_.command);
      exit_code_ = RunElect(global_, elect_);
    });
  }

  void AddPathCommand(const std::string& name, const std::string& what, const std::string& footer,
                      const std::string& path_help,
                      int (*run)(const GlobalFlags&, const std::string&)) {
    AddPath(*AddQuestion(name, what, footer, [this, run] { return run(global_, path_); }), path_,
            path_help);
  }

  // A command that runs no CMD.
  CLI::App* AddQuestion(const std::string& name, const std::string& what, const std::string& footer,
                        std::function<int()> run) {
    CLI::App* command = app_.add_subcommand(name, what);
    command->footer(footer);
    command->callback([this, name, run] {
      if (cmd_) RefuseUsage("CMD", name + " runs no command, but there is a --");
      exit_code_ = run();
    });
    return command;
  }

  void AddLs() {
    CLI::App* command = AddQuestion("ls", "Show who holds a lock and who waits for it", kLsHelp,
                                    [this] { return RunLs(global_, ls_); });
    AddPath(*command, ls_.path, "The lock: a path such as /locks/backup");
    command->add_flag("--watch", ls_.watch, "Show every change, until interrupted");
  }

  void AddBreak() {
    CLI::App* command = AddQuestion("break", "Delete one contender", kBreakHelp,
                                    [this] { return RunBreak(global_, break_); });
    AddPath(*command, break_.path, "The lock: a path such as /locks/backup");
    command->add_option("--token", break_.token, "The contender's token, as `zkr ls` shows it")
        ->required()
        ->type_name("N");
  }

  void AddEnsemble() {
    CLI::App* ensemble = app_.add_subcommand("ensemble", "Run a local ensemble, to try zkr on");
    ensemble->require_subcommand(1);
    ensemble->fallthrough();
    ensemble_.directory = DefaultDirectory();
    const auto add = [this, ensemble](const char* name, const char* help, auto run) {
      CLI::App* command = ensemble->add_subcommand(name, help);
      command->add_option("--dir", ensemble_.directory, "The directory for its files")
          ->capture_default_str();
      command->callback([this, run] { exit_code_ = run(global_, ensemble_); });
      return command;
    };
    add("start", "Start the servers, or those that are down; print their addresses", StartEnsemble)
        ->add_option("--servers", ensemble_.servers, "How many: 1 to 9 (3 if not given)")
        ->check(CLI::Range(1, 9));
    add("stop", "Stop the servers and remove their files", StopEnsemble);
    add("status", "Show each server's pid and mode; fail if there is no quorum", ShowEnsemble);
  }

  void AddManual() {
    AddQuestion("man", "Print the manual page zkr(1)", "",
                [this] { return Print(ManualPage(app_, ZKRECIPES_VERSION)) ? kDone : kInternal; });
    CLI::App* completion =
        AddQuestion("completion", "Print a script that completes zkr's words", "", [this] {
          return Print(shell_ == "zsh" ? ZshCompletion(app_) : BashCompletion(app_)) ? kDone
                                                                                     : kInternal;
        });
    completion->add_option("SHELL", shell_, "bash or zsh")
        ->required()
        ->type_name("bash|zsh")
        ->check(CLI::IsMember({"bash", "zsh"}).description(""));
  }

  static void AddVersionFlag(CLI::App& app) {
    app.set_version_flag("--version", absl::StrCat("zkr ", ZKRECIPES_VERSION));
    for (CLI::App* sub : app.get_subcommands(nullptr)) AddVersionFlag(*sub);
  }

  int Refuse(const CLI::ParseError& error) {
    const auto chosen = app_.get_subcommands();
    Complain(chosen.empty() ? WhyNoCommand() : WhyRefused(*chosen.front(), error));
    const std::string name = chosen.empty() ? "" : " " + chosen.front()->get_name();
    std::cerr << "Try: zkr" << name << " --help\n";
    if (const int fd = FindStatusFd(words_); fd >= 0) WriteResult(fd, {"usage", kUsage});
    return kUsage;
  }

  // CLI11 only lists the words that it did not expect.
  std::string WhyRefused(const CLI::App& command, const CLI::ParseError& error) const {
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
      return "a command is missing: lock, elect, observe, ls, check, break or ensemble";
    return absl::StrCat("no such command or option: ", unknown.front());
  }

  Words words_;
  std::optional<Words> cmd_;
  CLI::App app_{"ZooKeeper recipes from the command line", "zkr"};
  GlobalFlags global_;
  LockFlags lock_;
  ElectFlags elect_;
  EnsembleFlags ensemble_;
  LsFlags ls_;
  BreakFlags break_;
  std::string shell_;
  std::string path_;  // of observe; the sequencer of check
  int exit_code_ = kDone;
};

}  // namespace

int RunCommandLine(std::vector<std::string> words) { return CommandLine(std::move(words)).Run(); }

}  // namespace zkrecipes::zkr
