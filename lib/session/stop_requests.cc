// SPDX-License-Identifier: Apache-2.0

#include "lib/session/stop_requests.h"

#include <atomic>
#include <cstddef>

namespace zkrecipes::session {
namespace {

// Set while this thread hands a standby over. An executor that runs it at once, on the same thread,
// has no other thread that could stand by.
thread_local bool handing_over = false;

// A list that several tasks work off. While any of it is left there is one standby: a task that has
// been handed to the executor and has not begun.
class Work : public std::enable_shared_from_this<Work> {
 public:
  Work(std::shared_ptr<Executor> executor, std::vector<std::stop_source> sources)
      : executor_(std::move(executor)), sources_(std::move(sources)) {}

  void Begin() {
    executor_->Execute([self = shared_from_this()] { self->Run(); });
  }

 private:
  void Run() {
    // Counting makes the sources each task's own: no callback runs twice, and none waits for
    // another task.
    for (size_t i = begun_.fetch_add(1); i < sources_.size(); i = begun_.fetch_add(1)) {
      if (i + 1 < sources_.size() && !has_standby_.exchange(true)) SendStandby();
      sources_[i].request_stop();
    }
  }

  void SendStandby() {
    handing_over = true;
    executor_->Execute(
        [self = shared_from_this(), begun = begun_.load()] { self->StandBy(begun); });
    handing_over = false;
  }

  // `begun`: what had begun when it was sent. If that is more by now, no callback has blocked so
  // far.
  void StandBy(size_t begun) {
    if (handing_over) return has_standby_.store(false);  // another one before the next callback
    const size_t now = begun_.load();
    if (now >= sources_.size()) return;
    if (now != begun) return SendStandby();
    // Nothing has begun since: a callback blocks its task, so this one goes on with the rest.
    has_standby_.store(false);
    Run();
  }

  const std::shared_ptr<Executor> executor_;
  std::vector<std::stop_source> sources_;  // each is used by the task that counted it
  std::atomic<size_t> begun_ = 0;
  std::atomic<bool> has_standby_ = false;
};

void HandOver(const std::shared_ptr<Executor>& executor, std::vector<std::stop_source> sources) {
  if (!sources.empty()) std::make_shared<Work>(executor, std::move(sources))->Begin();
}

}  // namespace

void StopRequests::Add(std::stop_source source) {
  {
    base::MutexLock lock(mutex_);
    // Inside a batch the notices wait, so that thousands of leases that end at once cost one task.
    if (batches_ > 0) return waiting_.push_back(std::move(source));
  }
  HandOver(executor_, {std::move(source)});
}

StopRequests::Batch::Batch(StopRequests& requests) : requests_(requests) {
  base::MutexLock lock(requests_.mutex_);
  ++requests_.batches_;
}

StopRequests::Batch::~Batch() {
  std::vector<std::stop_source> sources;
  {
    base::MutexLock lock(requests_.mutex_);
    if (--requests_.batches_ == 0) sources.swap(requests_.waiting_);
  }
  HandOver(requests_.executor_, std::move(sources));
}

}  // namespace zkrecipes::session
