// SPDX-License-Identifier: Apache-2.0

#include "integration/socks.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <string>

namespace zkrecipes::integration {
namespace {

constexpr char kVersion = 5;

// Empty if that many do not come.
std::string Read(int fd, size_t size) {
  std::string bytes(size, 0);
  const ssize_t n = recv(fd, bytes.data(), size, MSG_WAITALL);
  return n == static_cast<ssize_t>(size) ? bytes : "";
}

}  // namespace

std::optional<int> ReadSocksRequest(int fd) {
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const std::string greeting = Read(fd, 2);  // version, how many methods
  if (greeting.empty() || greeting[0] != kVersion) return std::nullopt;
  if (Read(fd, static_cast<uint8_t>(greeting[1])).empty()) return std::nullopt;
  constexpr std::array<char, 2> kNoAuthentication = {kVersion, 0};
  send(fd, kNoAuthentication.data(), kNoAuthentication.size(), MSG_NOSIGNAL);
  // Version, command, reserved, kind of address, address, port.
  constexpr char kConnect = 1, kIpv4 = 1;
  const std::string request = Read(fd, 10);
  if (request.empty() || request[1] != kConnect || request[3] != kIpv4) return std::nullopt;
  return static_cast<uint8_t>(request[8]) << 8 | static_cast<uint8_t>(request[9]);
}

void AnswerSocksRequest(int fd, bool connected) {
  constexpr char kSucceeded = 0, kRefused = 5;
  const std::array<char, 10> answer = {kVersion, connected ? kSucceeded : kRefused, 0, 1};
  send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
}

}  // namespace zkrecipes::integration
