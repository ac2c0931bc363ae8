// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/process.h"

namespace zkrecipes::history {

int64_t Now() { return absl::ToInt64Nanoseconds(base::BootNow().since_boot()); }

absl::StatusOr<std::unique_ptr<Recorder>> Recorder::Open(const std::string& path, std::string who) {
  base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (file.get() < 0) {
    return absl::InternalError(absl::StrCat("cannot make ", path, ": ", strerror(errno)));
  }
  return std::unique_ptr<Recorder>(new Recorder(std::move(file), std::move(who)));
}

void Recorder::Record(Event event) {
  if (event.who.empty()) event.who = who_;
  if (event.at == 0) event.at = Now();
  const std::string line = ToLine(event) + "\n";
  const ssize_t written = write(file_.get(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) base::Die("cannot write the history");
}

}  // namespace zkrecipes::history
