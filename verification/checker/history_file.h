// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_HISTORY_FILE_H_
#define ZKRECIPES_VERIFICATION_CHECKER_HISTORY_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "verification/checker/event.h"

namespace zkrecipes::history {

// A history as it was read from its file.
struct History {
  std::vector<Event> events;  // in the order in which they were recorded
  // The last line has no end: whoever recorded it was killed meanwhile. It is not among the events.
  std::string cut_off;
};

//   NotFound         there is no such file, or it cannot be read
//   InvalidArgument  a line is no event; the message has the path, the line's number and what is
//                    wrong with it
absl::StatusOr<History> ReadHistory(const std::string& path);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_HISTORY_FILE_H_
