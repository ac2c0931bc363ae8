// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-check: judges the run whose records are in a directory (see run_directory.h), and draws
// it into timeline.html there. Exits with 0 if no rule was broken, 1 if one was, 2 if the records
// cannot be read.

#include <iostream>
#include <string>

#include "CLI/CLI.hpp"

#include "verification/timeline/timeline.h"

int main(int argc, char** argv) {
  std::string directory;
  CLI::App app("judges the run whose records are in a directory, and draws it", "zkrecipes-check");
  app.add_option("directory", directory, "with histories, logs/ and run.json")->required();
  CLI11_PARSE(app, argc, argv);
  const auto verdict = zkrecipes::history::Judge(directory);
  if (verdict.ok()) return (*verdict)["violations"].empty() ? 0 : 1;
  std::cerr << "zkrecipes-check: " << verdict.status() << "\n";
  return 2;
}
