// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/namespace.h"

#include <fcntl.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"


namespace zkrecipes::faults {

absl::Status InNamespace(const std::string& network_namespace, const std::function<void()>& task) {
  const base::UniqueFd fd(open(network_namespace.c_str(), O_RDONLY | O_CLOEXEC));
  int error = 0;
  std::thread([&] {
    if (setns(fd.get(), CLONE_NEWNET) == 0) {
      task();
    } else {
      error = errno;
    }
  }).join();
  if (error == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cannot enter the network namespace ", network_namespace,
                                          ": ", strerror(error)));  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace zkrecipes::faults
