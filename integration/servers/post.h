// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_POST_H_
#define ZKRECIPES_INTEGRATION_SERVERS_POST_H_

#include <netinet/in.h>

#include "integration/servers/host.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::faults {

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

}  // namespace zkrecipes::faults

#endif  // ZKRECIPES_INTEGRATION_SERVERS_POST_H_
