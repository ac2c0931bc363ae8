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
  if (error == ENOSPC) absl::StrAppend(&message, " (for epoll: fs.epoll.max_user_watches)");
  return absl::ResourceExhaustedError(message);
}

int SocketShortage() {
  // getaddrinfo, for one, reports a lack of descriptors as a name that does not exist.
  const base::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return socket.get() < 0 && IsShortage(errno) ? errno : 0;
}

namespace {

// A thread inherits the mask of the one that starts it, which may be a thread of the user.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace

absl::StatusOr<std::thread::id> StartDetached(absl::string_view what, std::function<void()> run) {
  const AllSignalsBlocked blocked;
  try {
    std::thread thread(std::move(run));
    const std::thread::id id = thread.get_id();
    thread.detach();
    return id;
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start ", what, ": ", error.what()));
  }
}

}  // namespace zkrecipes::base
