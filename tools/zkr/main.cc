// SPDX-License-Identifier: Apache-2.0

#include "CLI/CLI.hpp"

#include "tools/zkr/commands.h"
#include "tools/zkr/exit_code.h"
#include "tools/zkr/supervisor/process.h"
#include "zkrecipes/version.h"

int main(int argc, char** argv) {
  zkr::OccupyStandardStreams();
  CLI::App app("ZooKeeper recipes from the command line", "zkr");
  app.set_version_flag("--version", std::string("zkr ") + ZKRECIPES_VERSION);
  app.require_subcommand(1);
  app.fallthrough();

  zkr::GlobalFlags flags;
  int exit_code = zkr::kDone;
  zkr::AddGlobalFlags(app, flags);
  zkr::RegisterLockCommand(app, flags, exit_code);
  zkr::RegisterLsCommand(app, flags, exit_code);
  zkr::RegisterEnsembleCommand(app, flags, exit_code);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? zkr::kDone : zkr::kUsage;
  }
  return exit_code;
}
