// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/threads.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace zkrecipes::testing::memory {

void BlockedThreads::Begin(const Wait* wait) {
  base::MutexLock lock(mutex_);
  waits_.emplace(next_++, wait);
}

void BlockedThreads::End(const Wait* wait) {
  base::MutexLock lock(mutex_);
  std::erase_if(waits_, [wait](const auto& entry) { return entry.second == wait; });
  left_.NotifyAll();
}

base::BootTime BlockedThreads::NextAfter(base::BootTime now) {
  base::MutexLock lock(mutex_);
  base::BootTime next = base::BootTime::InfiniteFuture();
  for (const auto& [number, wait] : waits_) {
    if (wait->until > now) next = std::min(next, wait->until);
  }
  return next;
}

bool BlockedThreads::AnyIsOver() {
  base::MutexLock lock(mutex_);
  return std::ranges::any_of(waits_, [](const auto& entry) { return entry.second->over(); });
}

int BlockedThreads::WakeThoseOver(uint64_t before) {
  int over = 0;
  for (const auto& [number, wait] : waits_) {
    if (number >= before || !wait->over()) continue;
    wait->wake();
    ++over;
  }
  return over;
}

bool BlockedThreads::LetGo(std::chrono::nanoseconds at_most) {
  base::MutexLock lock(mutex_);
  // One that comes back at once, to wait for nothing again, is not waited for again.
  const uint64_t before = next_;
  const int over = WakeThoseOver(before);
  int left = over;
  for (RunningTime rest(at_most); left > 0 && !rest.over();) {
    rest.WaitFor(left_, mutex_);
    left = WakeThoseOver(before);
  }
  return left < over;
}

bool AnotherThreadRuns() {
  const std::string self = std::to_string(gettid());
  std::error_code none;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none)) {
    if (thread.path().filename() == self) continue;
    // "7 (a name, perhaps with spaces) R ...": see proc(5)
    std::ifstream file(thread.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t name_ends = text.rfind(')');
    if (name_ends != std::string::npos && text.compare(name_ends, 3, ") R") == 0) return true;
  }
  return false;
}

}  // namespace zkrecipes::testing::memory
