// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/worker/resource_client.h"

#include <unistd.h>

#include <utility>

#include "lib/base/boot_time.h"

namespace zkrecipes::history {

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
