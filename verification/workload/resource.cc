// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/resource.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "lib/base/boot_time.h"

namespace zkrecipes::history {

void Resource::Judge(Event& write) {
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

ResourceServer::~ResourceServer() {
  for (Peer& peer : peers_) shutdown(peer.socket.get(), SHUT_RDWR);
}

void ResourceServer::Add(base::UniqueFd socket) {
  const int fd = socket.get();
  peers_.push_back({std::move(socket), std::jthread([this, fd] {
                      while (Answer(fd)) continue;
                      shutdown(fd, SHUT_RDWR);
                    })});
}

bool ResourceServer::Answer(int socket) {
  std::array<char, 4096> buffer{};
  const ssize_t n = recv(socket, buffer.data(), buffer.size(), 0);
  if (n <= 0) return n < 0 && errno == EINTR;
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

// ---- the worker's end ----------------------------------------------------------------------------

std::optional<Event> ResourceClient::Write(const Event& write) {
  const auto answer = std::make_shared<base::OneShot<Answer>>();
  {
    base::MutexLock lock(mutex_);
    if (closed_) return std::nullopt;
    waiting_[write.attempt] = answer;
  }
  const std::string line = ToLine(write);
  // A message goes as a whole. If the resource is gone, Close is about to be called.
  (void)!::write(to_, line.data(), line.size());
  return *answer->Take(base::BootTime::InfiniteFuture());
}

void ResourceClient::OnAnswer(const std::string& line) {
  absl::StatusOr<Event> answer = FromLine(line);
  if (!answer.ok()) return;
  base::MutexLock lock(mutex_);
  const auto found = waiting_.find(answer->attempt);
  if (found == waiting_.end()) return;
  found->second->Set(*std::move(answer));
  waiting_.erase(found);
}

void ResourceClient::Close() {
  base::MutexLock lock(mutex_);
  closed_ = true;
  for (auto& [attempt, answer] : waiting_) answer->Set(std::nullopt);
  waiting_.clear();
}

}  // namespace zkrecipes::history
