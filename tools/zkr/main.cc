// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/command_line.h"
#include "tools/zkr/supervisor/process.h"

int main(int argc, char** argv) {
  // Before anything opens a descriptor: it would get the number of a stream that is closed.
  zkrecipes::zkr::supervisor::OccupyStandardStreams();
  // Before anything makes a thread: this may fork.
  zkrecipes::zkr::supervisor::BeInitIfFirst();
  return zkrecipes::zkr::RunCommandLine({argv + 1, argv + argc});
}
