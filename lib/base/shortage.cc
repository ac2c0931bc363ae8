// SPDX-License-Identifier: Apache-2.0

#include "lib/base/shortage.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::base {

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

absl::Status Shortage(absl::string_view what, int error) {
  std::string message = absl::StrCat(what, ": ", strerror(error));
  rlimit limit{};
  if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    absl::StrAppend(&message, " (this process may have ", limit.rlim_cur,
                    " descriptors: RLIMIT_NOFILE, ulimit -n)");
  }
  return absl::ResourceExhaustedError(message);
}

int SocketShortage() {
  // getaddrinfo, for one, reports a lack of descriptors as a name that does not exist.
  const base::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket.get() < 0 && IsShortage(errno) ? errno : 0;
}

absl::StatusOr<std::thread::id> StartDetached(absl::string_view what, std::function<void()> run) {
  // A thread inherits the mask of the one that starts it, which may be a thread of the user.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::StatusOr<std::thread::id> result;
  try {
    std::thread thread(std::move(run));
    result = thread.get_id();
    thread.detach();
  } catch (const std::system_error& error) {
    result = absl::ResourceExhaustedError(absl::StrCat("cannot start ", what, ": ", error.what()));
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

}  // namespace zkrecipes::base
