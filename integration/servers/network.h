// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_NETWORK_H_
#define ZKRECIPES_INTEGRATION_SERVERS_NETWORK_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "integration/servers/command.h"
#include "integration/servers/tcp_proxy.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::servers {

// Hosts on a bridge, each in a network namespace of its own, and what goes wrong between them.
// Packets are dropped silently, as by a broken switch. docs/adr/0019 says how.
//
// Hosts that others made (containers) can be named in all calls; what was done to one is gone when
// its namespace is. Not thread-safe. Calls block for some ten milliseconds.
//
// Errors of every method: Internal when a command fails; the message has it and what it printed.
class Network {
 public:
  // A bridge in a namespace of the calling process's own, which it moves into: to be called before
  // any thread is started. Nothing else can be reached from there. All of it goes with the process
  // and its children, however they end. The process itself is at 10.77.0.1.
  //   FailedPrecondition  not root, or a program is missing (the message names Debian's package)
  static absl::StatusOr<std::unique_ptr<Network>> Make();
  // On a bridge that is there: docker's. Hosts get `first_address` and those that follow it, which
  // must be unused, with the prefix length of the bridge's network: 16.
  static absl::StatusOr<std::unique_ptr<Network>> Join(const std::string& bridge,
                                                       const std::string& first_address,
                                                       int prefix);

  // A new host, which exists as long as this object or a process in it. REQUIRES: at most 200.
  absl::StatusOr<Host> AddHost();

  // Packets from one to the other are dropped from now on (one way), or only that share of them.
  absl::Status Drop(const Host& from, const Host& to, double share = 1);
  // Undoes all Drops of packets that go from or to the host. Nothing to undo is no error.
  absl::Status Mend(const Host& host);

  // From now on traffic on TCP connections that the host makes is this slow; a default Slowness
  // ends it. Each call resets the connections that the host has made, at the latest when they next
  // send something.
  absl::Status Slow(const Host& host, const Slowness& slowness);

 private:
  struct Rule {
    Host from;
    Host to;  // in its namespace
    std::vector<std::string> match;
  };
  struct Detour {
    Host host;
    std::unique_ptr<TcpProxy> proxy;
  };

  Network(std::string bridge, const std::string& first_address, int prefix);
  absl::Status Connect(const Host& host) const;
  absl::Status EndSlow(const Host& host);

  const std::string bridge_;
  const uint32_t first_address_;  // in the machine's byte order
  const int prefix_;
  std::vector<base::UniqueFd> namespaces_;  // hold those of our hosts
  std::vector<Rule> rules_;
  std::map<std::string, Detour> detours_;  // by address
};

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_NETWORK_H_
