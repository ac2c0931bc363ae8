// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/resource_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

namespace zkrecipes::history {

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
    for (const Peer& peer : peers_) events.push_back({peer.socket.get(), POLLIN, 0});
    poll(events.data(), events.size(), -1);
    auto event = events.begin() + 1;
    for (auto peer = peers_.begin(); peer != peers_.end(); ++event) {
      const bool alive = event->revents == 0 || Answer(*peer);
      peer = alive ? std::next(peer) : peers_.erase(peer);
    }
    eventfd_t ignored = 0;
    eventfd_read(wake_.get(), &ignored);
    base::MutexLock lock(mutex_);
    if (end_) return;
    for (base::UniqueFd& socket : added_) peers_.push_back({std::move(socket)});
    added_.clear();
  }
}

bool ResourceServer::Answer(Peer& peer) {
  std::array<char, 4096> buffer{};
  const ssize_t n = recv(peer.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n <= 0) return n < 0 && (errno == EAGAIN || errno == EINTR);
  std::string answers;
  for (const std::string& line : peer.lines.Add(buffer.data(), static_cast<size_t>(n))) {
    const std::optional<WriteRequest> request = ParseWriteRequest(line);
    if (!request.has_value()) return false;
    base::MutexLock lock(mutex_);
    answers += ToLine(
        WriteAnswer{request->id, resource_.Write(request->path, request->mode, request->token)});
  }
  // All fits: a worker has as many unread answers at most as it has threads.
  send(peer.socket.get(), answers.data(), answers.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return true;
}

}  // namespace zkrecipes::history
