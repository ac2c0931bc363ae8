// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_FOUR_LETTER_ANSWERS_H_
#define ZKRECIPES_INTEGRATION_FOUR_LETTER_ANSWERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace zkrecipes::integration {

// One line of a server's `cons`: a client's connection.
struct ConnectionStats {
  uint64_t session = 0;   // 0 before the handshake, and for a four letter word
  int64_t received = 0;   // packets, the handshake and pings included
  int64_t sent = 0;       // likewise, watch events included
  int64_t last_cxid = 0;  // xid of the last request that was no ping
  std::string last_operation;
};

// Pure functions over what ZooKeeper 3.8 answers.
std::vector<ConnectionStats> ParseConnections(const std::string& cons);
std::map<std::string, std::string> ParseMonitor(const std::string& mntr);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_FOUR_LETTER_ANSWERS_H_
