// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_DIAGNOSTIC_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_DIAGNOSTIC_H_

#include <string>

#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

// Writes a line to stderr: the only way in which zkr, its guard and its runner do. Never blocks:
// signals, grants and releases must not wait for a reader. A line that stderr does not take at once
// is dropped, and the next one that it takes is preceded by how many were; the end of one that is
// longer than 4 KiB is left out. Thread-safe.
// `code`: of an absl::Status; empty: none.
void Diagnose(const std::string& message, const std::string& code = "");

// Text that others have written, as it is. False if stderr did not take all of it at once.
bool WriteAtOnce(const std::string& text);

// The same pipe or terminal, opened for writes that do not wait for room: O_NONBLOCK on `fd` itself
// would be CMD's and the shell's, too. Invalid if it cannot be.
base::UniqueFd OpenAnew(int fd);

// The form of a line; as it is, "zkr: MESSAGE\n". For the start of the process.
using DiagnosticForm = std::string (*)(const std::string& message, const std::string& code);
void SetDiagnosticForm(DiagnosticForm form);

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_DIAGNOSTIC_H_
