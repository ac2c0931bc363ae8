// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_

#include <poll.h>

#include <memory>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "integration/servers/command.h"
#include "integration/servers/network.h"
#include "integration/servers/sockets.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::servers {

// Tests of one program on one network; skipped where there can be none, with the reason.
class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status& status = Made().status();
    if (absl::IsFailedPrecondition(status)) GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status;
  }

  static Network& network() { return **Made(); }

 private:
  // The first test makes it, before there are threads.
  static absl::StatusOr<std::unique_ptr<Network>>& Made() {
    static auto made = absl::StatusOr(Network::Make());
    return made;
  }
};

// Where the tests of networks listen on a host.
inline sockaddr_in AddressOf(const Host& host) { return SocketAddress(host.address, 7000); }

inline base::UniqueFd SocketIn(const Host& host, int type) {
  base::UniqueFd fd;
  const auto status = InNamespace(host.network_namespace, [&] {
    fd = base::UniqueFd(socket(AF_INET, type | SOCK_CLOEXEC, 0));
  });
  EXPECT_TRUE(status.ok()) << status;
  return fd;
}

// A socket for datagrams on a host, to see which packets arrive. For tests; not thread-safe.
class Post {
 public:
  explicit Post(const Host& host) : host_(host), fd_(SocketIn(host, SOCK_DGRAM)) {
    const sockaddr_in address = AddressOf(host_);
    EXPECT_EQ(bind(fd_.get(), Generic(address), sizeof(address)), 0);
  }

  const Host& host() const { return host_; }
  // Sends so many datagrams, and says how many arrive before none does for a second.
  int Send(int count, const Post& to) const {
    const sockaddr_in address = AddressOf(to.host_);
    for (int i = 0; i < count; ++i) {
      sendto(fd_.get(), "x", 1, 0, Generic(address), sizeof(address));
    }
    int arrived = 0;
    while (arrived < count && to.Receive()) ++arrived;
    return arrived;
  }

 private:
  bool Receive() const {
    pollfd wait{fd_.get(), POLLIN, 0};
    char buffer[1];
    return poll(&wait, 1, 1000) == 1 && recv(fd_.get(), buffer, 1, 0) == 1;
  }

  const Host host_;
  const base::UniqueFd fd_;
};

// Whether packets arrive at all.
inline bool Hears(const Host& to, const Host& from) { return Post(from).Send(2, Post(to)) > 0; }

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_
