// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_

#include <poll.h>

#include "gtest/gtest.h"

#include "integration/servers/command.h"
#include "integration/servers/sockets.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::servers {

// A socket for datagrams on a host, to see which packets arrive. Not thread-safe.
class Post {
 public:
  explicit Post(const Host& host) : host_(host) {
    const auto entered = InNamespace(host.network_namespace, [&] {
      fd_ = base::UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    });
    EXPECT_TRUE(entered.ok()) << entered;
    const sockaddr_in address = SocketAddress(host_.address, kPort);
    EXPECT_EQ(bind(fd_.get(), Generic(address), sizeof(address)), 0);
  }

  const Host& host() const { return host_; }
  // Sends so many datagrams, and says how many arrive before none does for a second.
  int Send(int count, const Post& to) const {
    const sockaddr_in address = SocketAddress(to.host_.address, kPort);
    for (int i = 0; i < count; ++i) {
      sendto(fd_.get(), "x", 1, 0, Generic(address), sizeof(address));
    }
    int arrived = 0;
    while (arrived < count && to.Receive()) ++arrived;
    return arrived;
  }

 private:
  static constexpr int kPort = 7000;

  bool Receive() const {
    pollfd wait{fd_.get(), POLLIN, 0};
    char buffer[1];
    return poll(&wait, 1, 1000) == 1 && recv(fd_.get(), buffer, 1, 0) == 1;
  }

  const Host host_;
  base::UniqueFd fd_;
};

// Whether packets arrive at all.
inline bool Hears(const Host& to, const Host& from) { return Post(from).Send(2, Post(to)) > 0; }

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_
