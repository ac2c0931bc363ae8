// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_RECORDER_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_RECORDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

#include "lib/base/unique_fd.h"
#include "verification/checker/event.h"

namespace zkrecipes::history {

// The clock of Event::at.
int64_t Now();

// Appends events to a file, each at once and by one system call: a process that is killed has
// recorded all for which Record returned. Thread-safe. Ends the process if the file cannot be
// written: a history with holes proves nothing.
class Recorder {
 public:
  // A new file.
  //   Internal  it cannot be made, or is there already
  static absl::StatusOr<std::unique_ptr<Recorder>> Open(const std::string& path, std::string who);

  // `who` and `at`, where the event has none: the recorder's, and now.
  void Record(Event event);

 private:
  Recorder(base::UniqueFd file, std::string who) : file_(std::move(file)), who_(std::move(who)) {}

  const base::UniqueFd file_;
  const std::string who_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_RECORDER_H_
