// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/worker/resource_client.h"

#include <unistd.h>

#include "lib/base/boot_time.h"
#include "verification/workload/write_lines.h"

namespace zkrecipes::history {

std::optional<Resource::Verdict> ResourceClient::Write(const std::string& path, Event::Mode mode,
                                                       int64_t token) {
  const auto answer = std::make_shared<base::OneShot<Answer>>();
  std::string line;
  {
    base::MutexLock lock(mutex_);
    if (closed_) return std::nullopt;
    line = ToLine(WriteRequest{++asked_, path, mode, token});
    waiting_[asked_] = answer;
  }
  // Short enough to go as a whole. If nobody reads it any more Close is about to be called.
  (void)!write(to_, line.data(), line.size());
  return *answer->Take(base::BootTime::InfiniteFuture());
}

void ResourceClient::OnLine(const std::string& line) {
  const std::optional<WriteAnswer> answer = ParseWriteAnswer(line);
  if (!answer.has_value()) return;
  base::MutexLock lock(mutex_);
  const auto found = waiting_.find(answer->id);
  if (found == waiting_.end()) return;
  found->second->Set(answer->verdict);
  waiting_.erase(found);
}

void ResourceClient::Close() {
  base::MutexLock lock(mutex_);
  closed_ = true;
  for (auto& [id, answer] : waiting_) answer->Set(std::nullopt);
  waiting_.clear();
}

}  // namespace zkrecipes::history
