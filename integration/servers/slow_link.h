// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_SLOW_LINK_H_
#define ZKRECIPES_INTEGRATION_SERVERS_SLOW_LINK_H_

#include <list>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "integration/servers/slow_pipe.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::servers {

// A port in a network namespace, on 127.0.0.1, to which the kernel is to redirect connections that
// are made there. Each is led on to where it was going; what is said on it takes its time, and
// arrives whole and in order. A connection is accepted at once, whatever becomes of it farther on.
// One thread, which never blocks on a connection.
class SlowLink {
 public:
  // Marks the sockets that lead on (SO_MARK): these are not to be redirected.
  static constexpr int kMark = 0x7a6b;

  //   Internal  the namespace is gone or not ours to enter, or the kernel refuses a socket
  static absl::StatusOr<std::unique_ptr<SlowLink>> Make(const std::string& network_namespace,
                                                        const Slowness& slowness);
  // Resets all connections.
  ~SlowLink();
  SlowLink(const SlowLink&) = delete;
  SlowLink& operator=(const SlowLink&) = delete;

  int port() const;

 private:
  struct Connection {
    base::UniqueFd client;
    base::UniqueFd server;
    SlowPipe up;
    SlowPipe down;
  };

  explicit SlowLink(const Slowness& slowness) : slowness_(slowness) {}
  absl::Status Open();
  void Run();
  bool Round();  // false: it is to stop
  void Accept();
  static void Break(Connection& connection);

  const Slowness slowness_;
  base::UniqueFd listener_;
  base::UniqueFd stop_;                // an eventfd
  std::list<Connection> connections_;  // of the thread
  std::thread thread_;
};

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_SLOW_LINK_H_
