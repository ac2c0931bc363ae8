// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/resource.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace zkrecipes::history {

void Resource::Judge(Event& write) {
  LargestTokens& largest = largest_[write.path];
  const bool shared = write.mode == Event::Mode::kShared;
  const int64_t gate = shared ? largest.exclusive : std::max(largest.exclusive, largest.shared);
  write.order = ++asked_;
  write.accepted = write.token >= gate;
  if (!write.accepted) return;
  ++accepted_;
  int64_t& mine = shared ? largest.shared : largest.exclusive;
  mine = std::max(mine, write.token);
}

ResourceServer::ResourceServer()
    : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { Serve(); }) {}

ResourceServer::~ResourceServer() {
  {
    base::MutexLock lock(mutex_);
    end_ = true;
  }
  Wake();
  thread_.join();
}

void ResourceServer::Add(base::UniqueFd socket) {
  {
    base::MutexLock lock(mutex_);
    added_.push_back(std::move(socket));
  }
  Wake();
}

int64_t ResourceServer::accepted() const {
  base::MutexLock lock(mutex_);
  return resource_.accepted();
}

int64_t ResourceServer::refused() const {
  base::MutexLock lock(mutex_);
  return resource_.refused();
}

void ResourceServer::Wake() { eventfd_write(wake_.get(), 1); }

void ResourceServer::Serve() {
  for (;;) {
    std::vector<pollfd> events = {{wake_.get(), POLLIN, 0}};
    for (const base::UniqueFd& socket : sockets_) events.push_back({socket.get(), POLLIN, 0});
    poll(events.data(), events.size(), -1);
    auto event = events.begin() + 1;
    for (auto socket = sockets_.begin(); socket != sockets_.end(); ++event) {
      const bool alive = event->revents == 0 || Answer(socket->get());
      socket = alive ? std::next(socket) : sockets_.erase(socket);
    }
    eventfd_t ignored = 0;
    eventfd_read(wake_.get(), &ignored);
    base::MutexLock lock(mutex_);
    if (end_) return;
    std::ranges::move(added_, std::back_inserter(sockets_));
    added_.clear();
  }
}

bool ResourceServer::Answer(int socket) {
  std::array<char, 4096> buffer{};
  const ssize_t n = recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
  absl::StatusOr<Event> write = FromLine(std::string(buffer.data(), static_cast<size_t>(n)));
  if (!write.ok() || write->what != Event::What::kWrite) return false;
  {
    base::MutexLock lock(mutex_);
    resource_.Judge(*write);
  }
  const std::string answer = ToLine(*write);
  // It fits: a worker has as many unread answers at most as it has threads.
  send(socket, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

}  // namespace zkrecipes::history
