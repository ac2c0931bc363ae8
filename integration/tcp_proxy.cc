// SPDX-License-Identifier: Apache-2.0

#include "integration/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "integration/socks.h"

namespace zkrecipes::integration {
namespace {

constexpr int kSocks = 0;  // no server's port

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int PortOf(const std::string& server) { return std::stoi(server.substr(server.rfind(':') + 1)); }

int Listen() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in any = Loopback(0);
  bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof(any));
  listen(fd, 16);
  return fd;
}

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = Loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) return fd;
  close(fd);
  return -1;
}

// Moves what `from` has to the end of `held`; false at its end.
bool Receive(int from, std::string& held) {
  char buffer[65536];
  const ssize_t n = recv(from, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (n > 0) held.append(buffer, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EAGAIN);
}

bool Deliver(int to, std::string& held, bool hold) {
  if (hold || held.empty()) return true;
  const ssize_t n = send(to, held.data(), held.size(), MSG_NOSIGNAL);
  held.clear();
  return n >= 0;
}

}  // namespace

TcpProxy::TcpProxy(const std::string& server) : TcpProxy(PortOf(server)) {}

TcpProxy::TcpProxy() : TcpProxy(kSocks) {}

TcpProxy::TcpProxy(int server_port)
    : server_port_(server_port),
      listener_(Listen()),
      wake_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

TcpProxy::~TcpProxy() {
  Do([this] { stopped_ = true; });
  thread_.join();
  for (const Connection& connection : connections_) Reset(connection);
  close(listener_);
  close(wake_);
}

std::string TcpProxy::address() const {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  return absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
}

void TcpProxy::ResetAll() {
  Do([this] {
    for (const Connection& connection : connections_) Reset(connection);
    connections_.clear();
  });
}

void TcpProxy::HoldReplies(bool hold) {
  Do([this, hold] { hold_replies_ = hold; });
}

void TcpProxy::HoldEverything(bool hold) {
  Do([this, hold] { hold_replies_ = hold_requests_ = hold; });
}

void TcpProxy::CutOnly(const std::set<int>& ports) {
  Do([this, &ports] {
    connections_.remove_if([&](const Connection& connection) {
      const bool healed = Cut(connection) && ports.count(connection.port) == 0;
      if (healed) Reset(connection);
      return healed;
    });
    cut_ = ports;
  });
}

void TcpProxy::Do(std::function<void()> command) {
  auto done = std::make_shared<std::promise<void>>();
  {
    base::MutexLock lock(mutex_);
    commands_.push_back([command = std::move(command), done] {
      command();
      done->set_value();
    });
  }
  eventfd_write(wake_, 1);
  done->get_future().wait();
}

void TcpProxy::Run() {
  while (!stopped_ && Round()) {
  }
}

bool TcpProxy::Round() {
  std::vector<pollfd> polls = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
  for (const Connection& connection : connections_) {
    if (Cut(connection)) continue;
    polls.push_back({connection.client, POLLIN, 0});
    polls.push_back({connection.server, POLLIN, 0});
  }
  if (poll(polls.data(), polls.size(), -1) < 0) return errno == EINTR;
  if (polls[0].revents != 0) {
    eventfd_t count;
    eventfd_read(wake_, &count);
  }
  std::list<std::function<void()>> commands;
  {
    base::MutexLock lock(mutex_);
    commands.swap(commands_);
  }
  for (const auto& command : commands) command();
  if (polls[1].revents != 0) Accept();
  connections_.remove_if(
      [this](Connection& connection) { return !Cut(connection) && !Forward(connection); });
  return true;
}

void TcpProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  Connection connection{client, -1, server_port_};
  if (server_port_ == kSocks) connection.port = ReadSocksRequest(client).value_or(kSocks);
  if (Cut(connection) || ConnectOn(connection)) {
    connections_.push_back(connection);
  } else {
    Reset(connection);
  }
}

// False if nobody listens there.
bool TcpProxy::ConnectOn(Connection& connection) const {
  connection.server = Connect(connection.port);
  if (server_port_ == kSocks) AnswerSocksRequest(connection.client, connection.server >= 0);
  const int on = 1;
  setsockopt(connection.client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(connection.server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return connection.server >= 0;
}

// False when the connection is over; it is closed then.
bool TcpProxy::Forward(Connection& c) {
  const bool open = Receive(c.client, c.to_server) && Receive(c.server, c.to_client) &&
                    Deliver(c.server, c.to_server, hold_requests_) &&
                    Deliver(c.client, c.to_client, hold_replies_);
  if (open) return true;
  Deliver(c.server, c.to_server, hold_requests_);
  Deliver(c.client, c.to_client, hold_replies_);
  close(c.client);
  close(c.server);
  return false;
}

void TcpProxy::Reset(const Connection& connection) {
  const linger now{1, 0};
  for (const int fd : {connection.client, connection.server}) {
    if (fd < 0) continue;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
  }
}

}  // namespace zkrecipes::integration
