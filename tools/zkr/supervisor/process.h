// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_

#include <initializer_list>
#include <string>

#include "tools/zkr/supervisor/unique_fd.h"

namespace zkr {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

// Close-on-exec; invalid ends if the system refuses, and errno says why.
Pipe ClosingPipe();

// Makes /dev/null of these, so that this process does not hold open what CMD may close: whoever
// reads CMD's output sees its end when CMD has closed it.
void DetachStandardStreams(std::initializer_list<int> streams);

// Opens /dev/null, close-on-exec, for each of stdin, stdout and stderr that is closed; else the
// next descriptor we open would take its place. For the start of main().
void OccupyStandardStreams();

// Sets each NAME=VALUE of a text of the form "NAME=VALUE\0NAME=VALUE\0".
void AddToEnvironment(const std::string& variables);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_PROCESS_H_
