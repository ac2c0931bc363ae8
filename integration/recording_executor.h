// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RECORDING_EXECUTOR_H_
#define ZKRECIPES_INTEGRATION_RECORDING_EXECUTOR_H_

#include <list>
#include <memory>
#include <thread>

#include "absl/functional/any_invocable.h"

#include "lib/base/mutex.h"
#include "zkrecipes/executor.h"

namespace zkrecipes::integration {

// Runs its tasks on one thread of its own, in order, and knows that thread again. Thread-safe.
class RecordingExecutor : public Executor {
 public:
  RecordingExecutor();
  ~RecordingExecutor() override;

  void Execute(absl::AnyInvocable<void() &&> task) override;
  bool IsThisThread() const { return std::this_thread::get_id() == thread_.get_id(); }
  // How many tasks it was given.
  int tasks() const;
  // From now on tasks are destroyed without having run.
  void Drop();

 private:
  // Of the thread too, which is detached if the executor's last owner is one of its tasks.
  struct Shared {
    base::Mutex mutex;
    base::CondVar work;
    std::list<absl::AnyInvocable<void() &&>> waiting ABSL_GUARDED_BY(mutex);
    int tasks ABSL_GUARDED_BY(mutex) = 0;
    bool dropping ABSL_GUARDED_BY(mutex) = false;
    bool stopped ABSL_GUARDED_BY(mutex) = false;
  };
  static void Run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_RECORDING_EXECUTOR_H_
