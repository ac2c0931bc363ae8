// SPDX-License-Identifier: Apache-2.0

#include "testing/local/free_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fstream>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"


namespace zkrecipes::testing {
namespace {

constexpr int kLowest = 10000;  // below live well-known services

int FirstEphemeralPort() {
  int first = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return first > kLowest + 1000 ? first : 32768;
}

// A socket bound to the port, or none. Fails too if something listens on 0.0.0.0.
base::UniqueFd TryBind(int port) {
  base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (fd.get() < 0 || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return base::UniqueFd();
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::vector<int>> FreePorts(int count) {
  constexpr int kAttempts = 1000;
  absl::BitGen random;
  const int end = FirstEphemeralPort();
  std::vector<base::UniqueFd> bound;  // held to the end, so that no port is found twice
  std::vector<int> ports;
  for (int attempt = 0; attempt < kAttempts && static_cast<int>(ports.size()) < count; ++attempt) {
    const int port = absl::Uniform(random, kLowest, end);
    base::UniqueFd fd = TryBind(port);
    if (fd.get() < 0) continue;
    bound.push_back(std::move(fd));
    ports.push_back(port);
  }
  if (static_cast<int>(ports.size()) == count) return ports;
  return absl::ResourceExhaustedError(absl::StrCat("found only ", ports.size(), " of ", count,
                                                   " free ports from ", kLowest, " to ", end - 1));
}

}  // namespace zkrecipes::testing
