// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_

#include <netinet/in.h>

#include <memory>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "integration/servers/command.h"
#include "integration/servers/network.h"
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
sockaddr_in AddressOf(const Host& host);

// A socket for datagrams on a host, to see which packets arrive. For tests; not thread-safe.
class Post {
 public:
  explicit Post(const Host& host);

  const Host& host() const { return host_; }
  // Sends so many datagrams, and says how many arrive. Waits a little for each that does not.
  int Send(int count, const Post& to) const;

 private:
  bool Receive(int milliseconds) const;

  const Host host_;
  base::UniqueFd fd_;
};

// Whether packets arrive at all.
inline bool Hears(const Host& to, const Host& from) { return Post(from).Send(2, Post(to)) > 0; }

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_NETWORK_FIXTURE_H_
