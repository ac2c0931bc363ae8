// SPDX-License-Identifier: Apache-2.0
//
// The server's half of SOCKS 5 (RFC 1928), as far as Java's sockets need it: no authentication,
// connections to IPv4 addresses.

#ifndef ZKRECIPES_INTEGRATION_SOCKS_H_
#define ZKRECIPES_INTEGRATION_SOCKS_H_

#include <optional>

namespace zkrecipes::integration {

// To which port the client at `fd`, newly accepted, wants to be connected; nothing if it does not
// speak SOCKS 5. Blocks up to five seconds if it is slow. The client waits for the answer.
std::optional<int> ReadSocksRequest(int fd);
void AnswerSocksRequest(int fd, bool connected);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_SOCKS_H_
