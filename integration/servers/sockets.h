// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_SOCKETS_H_
#define ZKRECIPES_INTEGRATION_SERVERS_SOCKETS_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "lib/base/unique_fd.h"

namespace zkrecipes::servers {

inline sockaddr_in SocketAddress(const std::string& numeric, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, numeric.c_str(), &address.sin_addr);
  return address;
}

// Of "127.0.0.1:2181".
inline sockaddr_in SocketAddress(const std::string& server) {
  const size_t colon = server.rfind(':');
  return SocketAddress(server.substr(0, colon), std::stoi(server.substr(colon + 1)));
}

inline const sockaddr* Generic(const sockaddr_in& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// A socket that listens there; port 0: on a port that the kernel chooses. None if it may not.
inline base::UniqueFd Listen(const sockaddr_in& address, int flags = 0, int backlog = 64) {
  base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool listens =
      bind(fd.get(), Generic(address), sizeof(address)) == 0 && listen(fd.get(), backlog) == 0;
  return listens ? std::move(fd) : base::UniqueFd();
}

inline int PortOf(const base::UniqueFd& listener) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_SOCKETS_H_
