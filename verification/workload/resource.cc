// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/resource.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace zkrecipes::history {
namespace {

// A line is sent as a whole, or not at all if nobody reads there any more.
void SendLine(int socket, const Event& event, int flags = 0) {
  const std::string line = ToLine(event);
  (void)send(socket, line.data(), line.size(), MSG_NOSIGNAL | flags);
}

// Blocks. nullopt at the end, and for what is no kWrite.
std::optional<Event> ReceiveWrite(int socket) {
  std::array<char, 4096> buffer{};
  ssize_t n = 0;
  do n = recv(socket, buffer.data(), buffer.size(), 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0) return std::nullopt;
  absl::StatusOr<Event> write = FromLine(std::string(buffer.data(), static_cast<size_t>(n)));
  if (!write.ok() || write->what != Event::What::kWrite) return std::nullopt;
  return *std::move(write);
}

}  // namespace

void Resource::Judge(Event& write) {
  base::MutexLock lock(mutex_);
  LargestTokens& largest = largest_[write.path];
  const bool shared = write.mode == Event::Mode::kShared;
  const int64_t gate = shared ? largest.exclusive : std::max(largest.exclusive, largest.shared);
  write.accepted = write.token >= gate;
  ++(write.accepted ? counts_.accepted : counts_.refused);
  write.order = counts_.accepted + counts_.refused;
  if (!write.accepted) return;
  int64_t& mine = shared ? largest.shared : largest.exclusive;
  mine = std::max(mine, write.token);
}

Resource::~Resource() {
  for (Peer& peer : peers_) shutdown(peer.socket.get(), SHUT_RDWR);
}

void Resource::Serve(base::UniqueFd socket) {
  const int fd = socket.get();
  peers_.push_back({std::move(socket), std::jthread([this, fd] {
                      while (std::optional<Event> write = ReceiveWrite(fd)) {
                        Judge(*write);
                        // It fits: a worker leaves few answers unread.
                        SendLine(fd, *write, MSG_DONTWAIT);
                      }
                      shutdown(fd, SHUT_RDWR);
                    })});
}

std::optional<Event> ResourceClient::Write(const Event& write) {
  base::MutexLock lock(mutex_);
  SendLine(socket_, write);
  return ReceiveWrite(socket_);
}

}  // namespace zkrecipes::history
