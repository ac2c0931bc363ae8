// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/command_line.h"
#include "tools/zkr/supervisor/process.h"

int main(int argc, char** argv) {
  zkrecipes::zkr::supervisor::OccupyStandardStreams();
  zkrecipes::zkr::supervisor::BeInitIfFirst();
  return zkrecipes::zkr::RunCommandLine({argv + 1, argv + argc});
}
