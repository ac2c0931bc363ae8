// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_SERVER_LIST_H_
#define ZKRECIPES_LIB_ZK_SEAM_SERVER_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace zkrecipes::zk::inline seam {

struct ServerAddress {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  uint16_t port = 0;
  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};
// "zk1:2181", "[::1]:2181".
std::string NameOf(const ServerAddress& server);

struct ServerList {
  std::vector<ServerAddress> servers;  // in the order given, never empty
  std::string namespace_root;          // "" or "/a/b"
};

// Parses "zk1:2181,[::1]:2182,zk3/namespace" (port 2181 where none is given; a namespace "/" is the
// whole tree; blanks around a part are forgiven, blank parts are not). No network use.
// InvalidArgument names the list, the offending part and the rule.
absl::StatusOr<ServerList> ParseServerList(const std::string& text);

// Where an ensemble keeps who its members are, from ZooKeeper 3.5 on.
inline constexpr char kEnsembleConfigPath[] = "/zookeeper/config";

struct EnsembleConfig {
  uint64_t version = 0;  // larger with each change of the members
  // Where the members serve clients, observers included. A member whose port is not in the config,
  // but in its own zoo.cfg ("clientPort="), is left out: so the list may be empty.
  std::vector<ServerAddress> servers;
};

// Parses the data of that node, lines of
//   server.1=zk1:2888:3888:participant;0.0.0.0:2181
//   version=100000003
// where an address that stands for all of a member's (0.0.0.0, [::], or none) is the member's first
// one. Other lines are passed over. InvalidArgument names the line and the rule: then nothing of it
// is to be believed.
absl::StatusOr<EnsembleConfig> ParseEnsembleConfig(const std::string& text);

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_SERVER_LIST_H_
