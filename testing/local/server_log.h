// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_SERVER_LOG_H_
#define ZKRECIPES_TESTING_LOCAL_SERVER_LOG_H_

#include <string>

#include "testing/local/server_files.h"

namespace zkrecipes::testing {

// The last `lines` lines of a log, Java's stack frames left out; empty if it cannot be read.
std::string TailOf(const std::string& path, int lines);

// Whether a server says in its log that it could not have one of its ports.
bool LogSaysPortTaken(const ServerSpec& spec);

// " Last lines of <path>:\n...", to end a message with; empty if there is no log.
std::string LogForMessage(const ServerSpec& spec);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_SERVER_LOG_H_
