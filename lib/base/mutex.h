// SPDX-License-Identifier: Apache-2.0
//
// std::mutex and its condition variable with clang's thread-safety annotations. (Debian's
// absl::Mutex makes ThreadSanitizer report races that do not exist.)

#ifndef ZKRECIPES_LIB_BASE_MUTEX_H_
#define ZKRECIPES_LIB_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace zkrecipes::base {

class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  // REQUIRES: the caller holds `mutex`. Wakes spuriously: call it in a loop.
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    cv_.wait(held);
    held.release();
  }
  void WaitFor(Mutex& mutex, std::chrono::nanoseconds at_most)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> held(mutex.mutex_, std::adopt_lock);
    cv_.wait_for(held, at_most);
    held.release();
  }
  void NotifyAll() { cv_.notify_all(); }
  void NotifyOne() { cv_.notify_one(); }

 private:
  std::condition_variable cv_;
};

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_MUTEX_H_
