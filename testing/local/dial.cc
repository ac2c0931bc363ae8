// SPDX-License-Identifier: Apache-2.0

#include "testing/local/dial.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/time/clock.h"

namespace zkrecipes::testing {
namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

AddressList Resolve(const std::string& address) {
  const size_t colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
  return AddressList(found, [](addrinfo* list) {
    if (list != nullptr) freeaddrinfo(list);
  });
}

}  // namespace

void BlockUntil(absl::Time deadline, const base::UniqueFd& fd) {
  // Zero would be for ever.
  const timeval left = absl::ToTimeval(std::max(deadline - absl::Now(), absl::Milliseconds(1)));
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    setsockopt(fd.get(), SOL_SOCKET, option, &left, sizeof left);
  }
}

base::UniqueFd Dial(const std::string& address, absl::Time deadline) {
  const AddressList list = Resolve(address);
  if (list == nullptr) {
    errno = EADDRNOTAVAIL;
    return base::UniqueFd();
  }
  base::UniqueFd fd(socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  BlockUntil(deadline, fd);
  if (connect(fd.get(), list->ai_addr, list->ai_addrlen) == 0) return fd;
  const int error = errno;
  fd = base::UniqueFd();
  errno = error;
  return fd;
}

}  // namespace zkrecipes::testing
