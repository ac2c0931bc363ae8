// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_SCRIPTED_SERVER_FIXTURE_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_SCRIPTED_SERVER_FIXTURE_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/unique_fd.h"
#include "lib/zk/wire/jute_reader.h"

namespace zkrecipes::zk::c_client {

// A port of 127.0.0.1 that says what a test wants, step by step on the test's thread.
class ScriptedServer {
 public:
  // What to say to a client's frame, the `number`th on its connection (0 is the handshake).
  using Script = std::function<std::string(int number, const std::string& frame)>;

  // An answer that closes the connection instead.
  static inline const std::string kHangUp = "hang up";

  // `banner` is said to whoever connects.
  explicit ScriptedServer(Script script, std::string banner = "")
      : script_(std::move(script)), banner_(std::move(banner)) {
    listener_ = base::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address = Loopback();
    bind(listener_.get(), Generic(address), sizeof(address));
    listen(listener_.get(), 16);
  }

  std::string address() const {
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    getsockname(listener_.get(), Generic(address), &size);
    return absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  int connections() const { return connections_; }  // so far
  size_t open() const { return clients_.size(); }

  // Returns how much of it the latest client's socket took.
  int SayToAll(const std::string& bytes) {
    ssize_t said = 0;
    for (const Client& client : clients_) said = Say(client, bytes);
    return static_cast<int>(std::max(said, ssize_t{0}));
  }
  // Closes all connections.
  void HangUp() { clients_.clear(); }
  // As a server does that has too many connections: with a reset, possibly behind the stream's end.
  void Reset(bool ends_first) {
    for (const Client& client : clients_) {
      if (ends_first) shutdown(client.fd.get(), SHUT_WR);
      const linger at_once{.l_onoff = 1, .l_linger = 0};
      setsockopt(client.fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    HangUp();
  }

  // Takes who has connected, hears and answers what has come.
  void Step() {
    for (int fd; (fd = accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
      ++connections_;
      clients_.push_back({base::UniqueFd(fd)});
      Say(clients_.back(), banner_);
    }
    clients_.remove_if([this](Client& client) { return !Serve(client); });
  }

 private:
  struct Client {
    base::UniqueFd fd;
    std::string heard = "";
    int frames = 0;
  };

  static sockaddr_in Loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static sockaddr* Generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

  static ssize_t Say(const Client& client, const std::string& bytes) {
    return send(client.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // False once the client is gone.
  bool Serve(Client& client) {
    char bytes[4096];
    ssize_t got;
    while ((got = recv(client.fd.get(), bytes, sizeof(bytes), 0)) > 0) {
      client.heard.append(bytes, static_cast<size_t>(got));
    }
    if (got == 0 || errno != EAGAIN) return false;
    while (client.heard.size() >= 4) {
      const size_t size = static_cast<size_t>(wire::JuteReader(client.heard).Int());
      if (client.heard.size() < 4 + size) break;
      const std::string frame = client.heard.substr(4, size);
      client.heard.erase(0, 4 + size);
      const std::string answer = script_(client.frames++, frame);
      if (answer == kHangUp) return false;
      Say(client, answer);
    }
    return true;
  }

  const Script script_;
  const std::string banner_;
  base::UniqueFd listener_;
  std::list<Client> clients_;
  int connections_ = 0;
};

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_SCRIPTED_SERVER_FIXTURE_H_
