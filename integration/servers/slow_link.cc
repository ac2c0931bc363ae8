// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/slow_link.h"

#include <arpa/inet.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <utility>
#include <vector>

#include "integration/servers/command.h"

namespace zkrecipes::servers {
namespace {

using base::BootNow;
using base::BootTime;
using base::UniqueFd;

sockaddr* Generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void Reset(UniqueFd& fd) {
  const linger now{1, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  fd.reset();
}

// To where the client wanted to go; none if that is not known. It may still be connecting.
UniqueFd LeadOn(int client, int mark) {
  sockaddr_in to{};
  socklen_t size = sizeof(to);
  if (getsockopt(client, SOL_IP, SO_ORIGINAL_DST, &to, &size) != 0) return UniqueFd();
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  setsockopt(fd.get(), SOL_SOCKET, SO_MARK, &mark, sizeof(mark));
  if (connect(fd.get(), Generic(to), sizeof(to)) != 0 && errno != EINPROGRESS) return UniqueFd();
  return fd;
}

// Nothing wanted is no descriptor: poll would not wait if that one had hung up.
pollfd Wanted(const UniqueFd& fd, const SlowPipe& in, const SlowPipe& out, BootTime now) {
  const int events = (in.takes() ? POLLIN : 0) | (out.full(now) ? POLLOUT : 0);
  return {events == 0 ? -1 : fd.get(), static_cast<int16_t>(events), 0};
}

int MillisecondsUntil(BootTime due, BootTime now) {
  if (due == BootTime::InfiniteFuture()) return -1;
  return static_cast<int>(absl::ToInt64Milliseconds(
      absl::Ceil(std::max(due - now, absl::ZeroDuration()), absl::Milliseconds(1))));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SlowLink>> SlowLink::Make(const std::string& network_namespace,
                                                         const Slowness& slowness) {
  std::unique_ptr<SlowLink> link(new SlowLink(slowness));
  absl::Status opened;
  // The thread inherits the namespace of the one that starts it, and makes its sockets there.
  absl::Status entered = InNamespace(network_namespace, [&] { opened = link->Open(); });
  entered.Update(opened);
  if (!entered.ok()) return entered;
  return link;
}

absl::Status SlowLink::Open() {
  listener_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener_.get(), Generic(any), sizeof(any)) != 0 || listen(listener_.get(), 64) != 0) {
    return absl::InternalError("cannot listen for redirected connections");
  }
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

SlowLink::~SlowLink() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

int SlowLink::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  getsockname(listener_.get(), Generic(address), &size);
  return ntohs(address.sin_port);
}

void SlowLink::Run() {
  while (Round()) {
  }
  for (Connection& connection : connections_) Break(connection);
}

bool SlowLink::Round() {
  std::vector<pollfd> polls = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  BootTime now = BootNow();
  BootTime next = BootTime::InfiniteFuture();
  for (const Connection& c : connections_) {
    polls.push_back(Wanted(c.client, c.up, c.down, now));
    polls.push_back(Wanted(c.server, c.down, c.up, now));
    for (const SlowPipe* pipe : {&c.up, &c.down}) {
      if (!pipe->full(now)) next = std::min(next, pipe->next());
    }
  }
  poll(polls.data(), polls.size(), MillisecondsUntil(next, now));
  if (polls[0].revents != 0) return false;
  now = BootNow();
  connections_.remove_if([now](Connection& c) {
    const bool whole = c.up.Move(now) && c.down.Move(now);
    if (!whole) Break(c);
    return !whole || (c.up.over() && c.down.over());
  });
  if (polls[1].revents != 0) Accept();
  return true;
}

void SlowLink::Break(Connection& connection) {
  Reset(connection.client);
  Reset(connection.server);
}

void SlowLink::Accept() {
  UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client.get() < 0) return;
  UniqueFd server = LeadOn(client.get(), kMark);
  if (server.get() < 0) return Reset(client);
  SendAtOnce(client.get());
  SendAtOnce(server.get());
  const int up = client.get();
  const int down = server.get();
  connections_.push_back({std::move(client), std::move(server), SlowPipe(up, down, slowness_),
                          SlowPipe(down, up, slowness_)});
}

}  // namespace zkrecipes::servers
