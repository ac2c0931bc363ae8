// SPDX-License-Identifier: Apache-2.0

#include "testing/local/four_letter_word.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::testing {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

AddressList Resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = address.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return AddressList(found, [](addrinfo* list) {
    if (list != nullptr) freeaddrinfo(list);
  });
}

// One exchange on one connection, its errors in the terms of the caller's question.
class Exchange {
 public:
  Exchange(const std::string& address, const std::string& word, absl::Duration timeout)
      : address_(address), word_(word), deadline_(absl::Now() + timeout) {}

  absl::StatusOr<std::string> Run() {
    if (absl::Status status = Connect(); !status.ok()) return status;
    if (send(fd_.get(), word_.data(), word_.size(), MSG_NOSIGNAL) < 0) return Broken(errno);
    std::string answer;
    for (char buffer[4096];;) {
      if (absl::Status status = Wait(POLLIN); !status.ok()) return status;
      const ssize_t n = recv(fd_.get(), buffer, sizeof buffer, 0);
      if (n == 0) break;
      if (n < 0) return Broken(errno);
      answer.append(buffer, static_cast<size_t>(n));
    }
    if (answer.empty()) return Broken(ECONNRESET);
    return answer;
  }

 private:
  absl::Status Connect() {
    const AddressList list = Resolve(address_);
    if (list == nullptr) return Broken(EADDRNOTAVAIL);
    fd_ = base::UniqueFd(socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd_.get() < 0) return absl::InternalError("cannot make a socket");
    if (connect(fd_.get(), list->ai_addr, list->ai_addrlen) != 0 && errno != EINPROGRESS) {
      return Broken(errno);
    }
    if (absl::Status status = Wait(POLLOUT); !status.ok()) return status;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 ? absl::OkStatus() : Broken(error);
  }

  absl::Status Wait(int16_t events) {
    for (;;) {
      const int64_t left = absl::ToInt64Milliseconds(absl::Ceil(
          std::max(deadline_ - absl::Now(), absl::ZeroDuration()), absl::Milliseconds(1)));
      pollfd waited{.fd = fd_.get(), .events = events, .revents = 0};
      const int n = poll(&waited, 1, static_cast<int>(std::min<int64_t>(left, 60'000)));
      if (n > 0) return absl::OkStatus();
      if (n < 0 && errno != EINTR) return absl::InternalError("cannot poll a socket");
      if (n == 0 && left <= 60'000) {
        return absl::DeadlineExceededError(
            absl::StrFormat("'%s' to %s: no answer", word_, address_));
      }
    }
  }

  absl::Status Broken(int error) const {
    return absl::UnavailableError(
        absl::StrFormat("'%s' to %s: %s", word_, address_, strerror(error)));
  }

  const std::string& address_;
  const std::string& word_;
  const absl::Time deadline_;
  base::UniqueFd fd_;
};

}  // namespace

absl::StatusOr<std::string> FourLetterWord(const std::string& address, const std::string& word,
                                           absl::Duration timeout) {
  if (word.size() != 4 || !std::all_of(word.begin(), word.end(), absl::ascii_islower)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "'%s' is not a four letter word: it must have four lower-case letters", word));
  }
  return Exchange(address, word, timeout).Run();
}

}  // namespace zkrecipes::testing
