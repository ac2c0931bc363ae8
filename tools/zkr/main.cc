// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"

#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "tools/zkr/result.h"
#include "tools/zkr/supervisor/process.h"
#include "zkrecipes/version.h"

namespace zkr {
namespace {

using Words = std::vector<std::string>;

// Takes what follows the first "--" off the command line. CLI11 would look into it.
Words TakeCommand(Words& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  Words command(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return command;
}

void AddVersionFlag(CLI::App& app) {
  app.set_version_flag("--version", absl::StrCat("zkr ", ZKRECIPES_VERSION));
  for (CLI::App* sub : app.get_subcommands(nullptr)) AddVersionFlag(*sub);
}

// CLI11's words for a missing or unknown command do not say which word it stumbled over.
std::string Describe(const CLI::App& app, const CLI::ParseError& error) {
  const Words unknown = app.remaining();
  if (!app.get_subcommands().empty()) return error.what();
  if (unknown.empty()) return "a command is missing: lock, elect, observe, ls or ensemble";
  return absl::StrCat("no such command or option: ", unknown.front());
}

int Refuse(const CLI::App& app, const CLI::ParseError& error, const Words& words) {
  Complain(Describe(app, error));
  const auto chosen = app.get_subcommands();
  const std::string name = chosen.empty() ? "" : " " + chosen.front()->get_name();
  std::cerr << "Try: zkr" << name << " --help\n";
  if (const int fd = FindStatusFd(words); fd >= 0) WriteResult(fd, {"usage", kUsage});
  return kUsage;
}

int Main(Words words) {
  CLI::App app("ZooKeeper recipes from the command line", "zkr");
  app.formatter(std::make_shared<PlainHelp>());
  app.require_subcommand(1);
  app.fallthrough();
  GlobalFlags flags;
  int exit_code = kDone;
  AddGlobalFlags(app, flags);
  RegisterLockCommand(app, flags, exit_code);
  RegisterElectCommand(app, flags, exit_code);
  RegisterObserveCommand(app, flags, exit_code);
  RegisterLsCommand(app, flags, exit_code);
  RegisterEnsembleCommand(app, flags, exit_code);
  AddVersionFlag(app);

  const bool has_command = std::find(words.begin(), words.end(), "--") != words.end();
  if (has_command) flags.command = TakeCommand(words);
  try {
    app.parse(Words(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Refuse(app, error, words);
  }
  return exit_code;
}

}  // namespace
}  // namespace zkr

int main(int argc, char** argv) {
  zkr::OccupyStandardStreams();
  return zkr::Main({argv + 1, argv + argc});
}
