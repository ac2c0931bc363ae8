// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_MANUAL_H_
#define ZKRECIPES_TOOLS_ZKR_MANUAL_H_

#include <string>

namespace CLI {
class App;
}

namespace zkrecipes::zkr {

// Made from the table of commands and options that --help shows, so that they cannot differ from
// it.

// The manual page zkr(1), for man.
std::string ManualPage(const CLI::App& zkr, const std::string& version);

// To be sourced by an interactive shell. Both complete commands, options and the values of those
// options that name theirs ("auto|cgroup|process"), and after -- a command of the machine.
std::string BashCompletion(const CLI::App& zkr);
std::string ZshCompletion(const CLI::App& zkr);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_MANUAL_H_
