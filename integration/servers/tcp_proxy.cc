// SPDX-License-Identifier: Apache-2.0

#include "integration/servers/tcp_proxy.h"

#include <linux/netfilter_ipv4.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "integration/servers/command.h"
#include "integration/servers/sockets.h"

namespace zkrecipes::servers {
namespace {

using base::BootNow;
using base::BootTime;
using base::UniqueFd;

void SendAtOnce(const UniqueFd& fd) {
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void Reset(UniqueFd& fd) {
  const linger now{1, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  fd.reset();
}

// Nothing wanted is no descriptor: poll would not wait if that one had hung up.
pollfd Wanted(const UniqueFd& fd, const SlowPipe& in, const SlowPipe& out, BootTime now) {
  const int events = (in.takes() ? POLLIN : 0) | (out.full(now) ? POLLOUT : 0);
  return {events == 0 ? -1 : fd.get(), static_cast<int16_t>(events), 0};
}

constexpr int32_t kPing = -2;

uint32_t BigEndian(const std::string& bytes, size_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return ntohl(value);
}

}  // namespace

// A frame: its length, then the request's number.
int RequestCounter::Count(absl::string_view bytes) {
  int requests = 0;
  while (!bytes.empty()) {
    const size_t skipped = std::min(rest_, bytes.size());
    rest_ -= skipped;
    bytes.remove_prefix(skipped);
    const size_t taken = std::min(8 - head_.size(), bytes.size());
    absl::StrAppend(&head_, bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (head_.size() < 8) break;
    requests += static_cast<int32_t>(BigEndian(head_, 4)) == kPing ? 0 : 1;
    rest_ = std::max(BigEndian(head_, 0), 4U) - 4;
    head_.clear();
  }
  return requests;
}

base::BootTime SlowPipe::next() const {
  const bool none = slowness_.held || held_.empty();
  return none ? base::BootTime::InfiniteFuture() : held_.front().due;
}

bool SlowPipe::Take(base::BootTime now) {
  char buffer[16384];
  while (takes()) {
    const ssize_t n = recv(from_, buffer, sizeof(buffer), 0);
    if (n < 0) return errno == EAGAIN;
    const auto size = static_cast<size_t>(n);
    free_at_ = std::max(free_at_, now);
    if (slowness_.bytes_per_second > 0) {
      free_at_ = free_at_ + absl::Seconds(1) * size / slowness_.bytes_per_second;
    }
    held_.push_back({free_at_ + slowness_.each_way, std::string(buffer, size)});
    bytes_ += size;
    taken_.append(buffer, size);
    ended_ = n == 0;
  }
  return true;
}

bool SlowPipe::Deliver(base::BootTime now) {
  while (full(now)) {
    std::string& bytes = held_.front().bytes;
    if (bytes.empty()) {
      if (shutdown(to_, SHUT_WR) != 0) return false;
      held_.pop_front();
      continue;
    }
    const ssize_t n = send(to_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    bytes.erase(0, static_cast<size_t>(n));
    bytes_ -= static_cast<size_t>(n);
    if (bytes.empty()) held_.pop_front();
  }
  return true;
}

// ---- the proxy ----------------------------------------------------------------------------------

TcpProxy::TcpProxy(const std::string& server, const Slowness& slowness)
    : TcpProxy(std::optional(SocketAddress(server)), slowness) {}

TcpProxy::TcpProxy(std::optional<sockaddr_in> server, const Slowness& slowness)
    : server_(server),
      listener_(Listen(SocketAddress("127.0.0.1", 0), SOCK_NONBLOCK)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      up_(slowness),
      down_(slowness),
      thread_([this] { Run(); }) {}

absl::StatusOr<std::unique_ptr<TcpProxy>> TcpProxy::OfRedirected(
    const std::string& network_namespace, const Slowness& slowness) {
  std::unique_ptr<TcpProxy> proxy;
  // Its thread inherits the namespace of the one that starts it, and makes its sockets there.
  const absl::Status entered =
      InNamespace(network_namespace, [&] { proxy.reset(new TcpProxy(std::nullopt, slowness)); });
  if (!entered.ok()) return entered;
  return proxy;
}

TcpProxy::~TcpProxy() {
  Do([this] { stopped_ = true; });
  thread_.join();
}

int TcpProxy::port() const { return PortOf(listener_); }

std::string TcpProxy::address() const { return absl::StrCat("127.0.0.1:", port()); }

void TcpProxy::ResetAll() {
  Do([this] {
    for (Connection& connection : connections_) Break(connection);
    connections_.clear();
  });
}

void TcpProxy::HoldReplies(bool hold) {
  Do([this, hold] { down_.held = hold; });
}

void TcpProxy::HoldEverything(bool hold) {
  Do([this, hold] { up_.held = down_.held = hold; });
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
  eventfd_write(wake_.get(), 1);
  done->get_future().wait();
}

void TcpProxy::Run() {
  while (!stopped_) Round();
  for (Connection& connection : connections_) Break(connection);
}

void TcpProxy::Round() {
  std::vector<pollfd> polls = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  const BootTime begin = BootNow();
  BootTime next = BootTime::InfiniteFuture();
  for (const Connection& c : connections_) {
    polls.push_back(Wanted(c.client, c.up, c.down, begin));
    polls.push_back(Wanted(c.server, c.down, c.up, begin));
    for (const SlowPipe* pipe : {&c.up, &c.down}) {
      if (!pipe->full(begin)) next = std::min(next, pipe->next());
    }
  }
  const timespec until = absl::ToTimespec(std::max(next - begin, absl::ZeroDuration()));
  ppoll(polls.data(), polls.size(), next == BootTime::InfiniteFuture() ? nullptr : &until, nullptr);
  eventfd_t count;
  eventfd_read(wake_.get(), &count);
  std::list<std::function<void()>> commands;
  {
    base::MutexLock lock(mutex_);
    commands.swap(commands_);
  }
  for (const auto& command : commands) command();  // these may end all connections, but not one
  size_t i = 2;
  connections_.remove_if([&](Connection& c) {
    const bool whole = Move(c, polls[i].revents != 0, polls[i + 1].revents != 0);
    i += 2;
    if (!whole) Break(c);
    return !whole || c.up.lost() || c.down.lost() || (c.up.over() && c.down.over());
  });
  if (polls[1].revents != 0) Accept();
}

bool TcpProxy::Move(Connection& c, bool client_has, bool server_has) {
  const BootTime now = BootNow();
  const bool whole = c.up.Move(client_has, now) && c.down.Move(server_has, now);
  const std::string asked = c.up.Taken();
  traffic_.requests += c.counter.Count(asked);
  traffic_.bytes += static_cast<int64_t>(asked.size() + c.down.Taken().size());
  return whole;
}

void TcpProxy::Break(Connection& connection) {
  Reset(connection.client);
  Reset(connection.server);
}

void TcpProxy::Accept() {
  UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (client.get() < 0) return;
  UniqueFd server = LeadOn(client.get());
  if (server.get() < 0) return Reset(client);
  SendAtOnce(client);
  SendAtOnce(server);
  const int up = client.get();
  const int down = server.get();
  connections_.push_back(
      {std::move(client), std::move(server), SlowPipe(up, down, up_), SlowPipe(down, up, down_)});
}

// None if it is not known where to, or refused at once. It may still be connecting.
UniqueFd TcpProxy::LeadOn(int client) const {
  sockaddr_in to = server_.value_or(sockaddr_in{});
  socklen_t size = sizeof(to);
  if (!server_ && getsockopt(client, SOL_IP, SO_ORIGINAL_DST, &to, &size) != 0) return UniqueFd();
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  setsockopt(fd.get(), SOL_SOCKET, SO_MARK, &kMark, sizeof(kMark));
  const bool failed = connect(fd.get(), Generic(to), sizeof(to)) != 0 && errno != EINPROGRESS;
  return failed ? UniqueFd() : std::move(fd);
}

}  // namespace zkrecipes::servers
