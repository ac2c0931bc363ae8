// SPDX-License-Identifier: Apache-2.0

#include "bench/proxy.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace bench {
namespace {

constexpr int32_t kPing = -2;

int OrDie(int result, const char* what) {
  if (result >= 0) return result;
  std::perror(what);
  std::exit(1);
}

sockaddr_in Ipv4(const std::string& server) {  // "127.0.0.1:2181"
  const std::vector<std::string> parts = absl::StrSplit(server, ':');
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  OrDie(parts.size() == 2 ? inet_pton(AF_INET, parts[0].c_str(), &address.sin_addr) : -1, "server");
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(parts[1].c_str())));
  return address;
}

int ListenAnywhere(std::string& here) {
  const int fd = OrDie(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address = Ipv4("127.0.0.1:0");
  socklen_t size = sizeof(address);
  OrDie(bind(fd, reinterpret_cast<sockaddr*>(&address), size), "bind");
  OrDie(listen(fd, SOMAXCONN), "listen");
  OrDie(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  absl::StrAppend(&here, here.empty() ? "" : ",", "127.0.0.1:", ntohs(address.sin_port));
  return fd;
}

int32_t BigEndian(const std::string& bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return static_cast<int32_t>(ntohl(value));
}

timespec Until(Clock::time_point due) {
  const auto left = std::clamp<Clock::duration>(due - Clock::now(), Clock::duration::zero(),
                                                std::chrono::milliseconds(100));
  return {0, std::chrono::nanoseconds(left).count()};
}

}  // namespace

Proxy::Proxy(const std::string& servers, std::chrono::microseconds each_way) : each_way_(each_way) {
  for (const absl::string_view server : absl::StrSplit(servers, ',')) {
    doors_.push_back({ListenAnywhere(here_), Ipv4(std::string(server))});
  }
  thread_ = std::thread([this] { Run(); });
}

Proxy::~Proxy() {
  over_ = true;  // seen within 100 ms
  thread_.join();
  for (const Door& door : doors_) close(door.listener);
  for (const Connection& c : connections_) close(c.up.from), close(c.down.from);
}

void Proxy::Run() {
  while (!over_) {
    std::vector<pollfd> polls;
    const Clock::time_point now = Clock::now();
    Clock::time_point next = now + std::chrono::seconds(1);
    for (const Door& door : doors_) polls.push_back({door.listener, POLLIN, 0});
    for (const Connection& c : connections_) {
      for (const Pipe* pipe : {&c.up, &c.down}) {
        const bool is_due = !pipe->held.empty() && pipe->held.front().due <= now;
        polls.push_back({pipe->from, POLLIN, 0});
        polls.push_back({is_due ? pipe->to : -1, POLLOUT, 0});  // waits for room
        if (!pipe->held.empty() && !is_due) next = std::min(next, pipe->held.front().due);
      }
    }
    const timespec until = Until(next);
    ppoll(polls.data(), polls.size(), &until, nullptr);
    size_t i = doors_.size();
    for (Connection& c : connections_) {
      for (Pipe* pipe : {&c.up, &c.down}) {
        if (polls[i].revents != 0) Take(c, *pipe);
        Deliver(c, *pipe);
        i += 2;
      }
    }
    for (size_t door = 0; door < doors_.size(); ++door) {
      if (polls[door].revents != 0) Accept(doors_[door]);
    }
    connections_.remove_if([](const Connection& c) {
      if (c.over) close(c.up.from), close(c.down.from);
      return c.over;
    });
  }
}

void Proxy::Accept(const Door& door) {
  const int client = accept4(door.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  const int server = OrDie(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  const auto* const address = reinterpret_cast<const sockaddr*>(&door.server);
  OrDie(connect(server, address, sizeof(door.server)), "connect");
  const int on = 1;
  for (const int fd : {client, server}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  connections_.push_back({{client, server}, {server, client}});
}

void Proxy::Take(Connection& connection, Pipe& pipe) {
  char buffer[1 << 16];
  const ssize_t n = recv(pipe.from, buffer, sizeof(buffer), MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return;
  if (n <= 0) {
    connection.over = true;
    return;
  }
  bytes_ += n;
  if (&pipe == &connection.up) CountFrames(pipe, buffer, n);
  pipe.held.push_back({Clock::now() + each_way_, std::string(buffer, n)});
}

void Proxy::Deliver(Connection& connection, Pipe& pipe) {
  while (!pipe.held.empty() && pipe.held.front().due <= Clock::now()) {
    std::string& bytes = pipe.held.front().bytes;
    const ssize_t n = send(pipe.to, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN) connection.over = true;
    if (n < 0) return;
    bytes.erase(0, n);
    if (bytes.empty()) pipe.held.pop_front();
  }
}

// A frame: its length, then the request's number.
void Proxy::CountFrames(Pipe& pipe, const char* bytes, int64_t size) {
  while (size > 0) {
    const int64_t skip = std::min(pipe.rest, size);
    pipe.rest -= skip, bytes += skip, size -= skip;
    if (size == 0) return;
    pipe.head += *bytes;
    ++bytes, --size;
    if (pipe.head.size() < 8) continue;
    if (BigEndian(pipe.head, 4) != kPing) ++requests_;
    pipe.rest = std::max(0, BigEndian(pipe.head, 0) - 4);
    pipe.head.clear();
  }
}

}  // namespace bench
