// SPDX-License-Identifier: Apache-2.0

#include "integration/recording_executor.h"

#include <utility>

namespace zkrecipes::integration {

RecordingExecutor::RecordingExecutor()
    : shared_(std::make_shared<Shared>()), thread_([shared = shared_] { Run(shared); }) {}

RecordingExecutor::~RecordingExecutor() {
  {
    base::MutexLock lock(shared_->mutex);
    shared_->stopped = true;
    shared_->work.NotifyAll();
  }
  IsThisThread() ? thread_.detach() : thread_.join();
}

void RecordingExecutor::Execute(absl::AnyInvocable<void() &&> task) {
  base::MutexLock lock(shared_->mutex);
  ++shared_->tasks;
  if (shared_->dropping) return;
  shared_->waiting.push_back(std::move(task));
  shared_->work.NotifyAll();
}

int RecordingExecutor::tasks() const {
  base::MutexLock lock(shared_->mutex);
  return shared_->tasks;
}

void RecordingExecutor::Drop() {
  base::MutexLock lock(shared_->mutex);
  shared_->dropping = true;
}

void RecordingExecutor::Run(const std::shared_ptr<Shared>& shared) {
  while (true) {
    absl::AnyInvocable<void() &&> task;
    {
      base::MutexLock lock(shared->mutex);
      while (shared->waiting.empty() && !shared->stopped) shared->work.Wait(shared->mutex);
      if (shared->waiting.empty()) return;
      task = std::move(shared->waiting.front());
      shared->waiting.pop_front();
    }
    std::move(task)();
  }
}

}  // namespace zkrecipes::integration
