// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-check: judges the run whose records are in a directory (see run_directory.h), and draws
// it. Exits with 0 if no rule was broken, 1 if one was, 2 if the records cannot be read.

#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"

#include "verification/timeline/timeline.h"

namespace zkrecipes::history {
namespace {

int Main(const std::string& directory, const std::string& timeline) {
  const absl::StatusOr<Verdict> verdict =
      Judge(directory, timeline.empty() ? directory + "/timeline.html" : timeline);
  if (verdict.ok()) return verdict->violations.empty() ? 0 : 1;
  std::fprintf(stderr, "zkrecipes-check: %s\n", verdict.status().ToString().c_str());
  return 2;
}

}  // namespace
}  // namespace zkrecipes::history

int main(int argc, char** argv) {
  std::string directory;
  std::string timeline;
  CLI::App app("judges the run whose records are in a directory, and draws it", "zkrecipes-check");
  app.add_option("directory", directory, "with histories, logs/ and run.json")->required();
  app.add_option("--timeline", timeline, "the page to write (default: timeline.html in there)");
  CLI11_PARSE(app, argc, argv);
  return zkrecipes::history::Main(directory, timeline);
}
