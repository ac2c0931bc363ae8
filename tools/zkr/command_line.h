// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_COMMAND_LINE_H_
#define ZKRECIPES_TOOLS_ZKR_COMMAND_LINE_H_

#include <string>
#include <vector>

namespace zkrecipes::zkr {

// Parses zkr's arguments and runs the command that they name. Returns zkr's exit status.
int RunCommandLine(std::vector<std::string> words);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_COMMAND_LINE_H_
