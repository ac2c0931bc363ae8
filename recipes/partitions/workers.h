// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_WORKERS_H_
#define ZKRECIPES_RECIPES_PARTITIONS_WORKERS_H_

#include <atomic>
#include <list>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "zkrecipes/partitions.h"

namespace zkrecipes::internal {

// A thread for each partition that is owned. Not thread-safe: its calls never overlap.
class Workers {
 public:
  explicit Workers(const PartitionWork& work) : work_(work) {}
  ~Workers() {
    for (Worker& worker : workers_) worker.thread.join();
  }

  // ResourceExhausted: no thread can be started, and the partition is given back.
  absl::Status Start(OwnedPartition owned) {
    std::erase_if(workers_, [](Worker& worker) {
      if (!worker.done) return false;
      worker.thread.join();
      return true;
    });
    Worker& worker = workers_.emplace_back();
    try {
      worker.thread = std::thread([this, &worker, mine = std::move(owned)]() mutable noexcept {
        {
          const OwnedPartition partition = std::move(mine);
          const bool over = partition.end().stop_requested() || partition.lease().end_reason();
          if (!over) work_(partition.name(), partition.lease(), partition.end());
        }
        worker.done = true;
      });
    } catch (const std::system_error& error) {
      workers_.pop_back();
      return absl::ResourceExhaustedError(
          absl::StrCat("run: no thread for a partition's work: ", error.what()));
    }
    return absl::OkStatus();
  }

 private:
  struct Worker {
    std::thread thread;
    std::atomic<bool> done = false;
  };
  const PartitionWork& work_;
  std::list<Worker> workers_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITIONS_WORKERS_H_
