// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/network_fixture.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "integration/servers/command.h"

namespace zkrecipes::servers {
namespace {

using base::UniqueFd;

constexpr uint16_t kPort = 7000;

}  // namespace

sockaddr_in AddressOf(const Host& host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  inet_pton(AF_INET, host.address.c_str(), &address.sin_addr);
  return address;
}

Post::Post(const Host& host) : host_(host) {
  const auto status = InNamespace(host_.network_namespace, [this] {
    fd_ = UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  });
  EXPECT_TRUE(status.ok()) << status;
  const sockaddr_in address = AddressOf(host_);
  EXPECT_EQ(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

int Post::Send(int count, const Post& to) const {
  const sockaddr_in address = AddressOf(to.host_);
  int arrived = 0;
  for (int i = 0; i < count; ++i) {
    sendto(fd_.get(), "x", 1, 0, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    // What is not dropped is there at once; the first has to ask for the other's address.
    arrived += to.Receive(i == 0 ? 500 : 20) ? 1 : 0;
  }
  return arrived;
}

bool Post::Receive(int milliseconds) const {
  pollfd wait{fd_.get(), POLLIN, 0};
  char buffer[1];
  return poll(&wait, 1, milliseconds) == 1 && recv(fd_.get(), buffer, 1, 0) == 1;
}

}  // namespace zkrecipes::servers
