// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_EVERYDAY_NAMES_H_
#define ZKRECIPES_VERIFICATION_EVERYDAY_NAMES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "integration/servers/command.h"
#include "integration/servers/servers.h"
#include "verification/faults/catalogue.h"

namespace zkrecipes::everyday {

// Names under which clients know the servers: "zk1". Each leads to an address that the server has
// besides its own, and that can change, as a pod's does. They stand in /etc/hosts, as this process
// and its children see it. Not thread-safe. Errors: Internal.
class Names {
 public:
  // Moves this process into a mount namespace of its own: to be called before any thread is
  // started.
  static absl::StatusOr<std::unique_ptr<Names>> Make(const std::string& directory);

  // Gives all of them addresses.
  absl::Status Cover(const servers::Servers& servers);
  // From now on the server is at another address, and its name leads there. Nothing is at the old
  // one: what is sent there is lost.
  absl::Status Move(const servers::Servers& servers, int i);

  std::string list() const;  // what clients are given: "zk1:20001,zk2:20001,zk3:20001"
  // The server under the address to which its name leads.
  servers::Host host(const servers::Servers& servers, int i) const;

 private:
  explicit Names(std::string file) : file_(std::move(file)) {}
  absl::Status Assign(const servers::Servers& servers, int i);
  absl::Status Write() const;

  const std::string file_;
  std::vector<std::string> addresses_;  // by server
  std::vector<std::string> ports_;
  int assigned_ = 0;
};

// What befalls a well-run ensemble sooner or later, and lasts as long as it may there. `names` have
// to be covered.
std::vector<faults::Fault> EverydayFaults(Names& names);

}  // namespace zkrecipes::everyday

#endif  // ZKRECIPES_VERIFICATION_EVERYDAY_NAMES_H_
