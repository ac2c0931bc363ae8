// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_PARTITIONS_STATE_H_
#define ZKRECIPES_RECIPES_PARTITIONS_STATE_H_

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "zkrecipes/lease.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::internal {

// One turn of a partition, from its grant until its lock is gone. Thread-safe, but for the lease,
// which is the user's while an OwnedPartition is there, and the runner's before and after that.
class PartitionState : public std::enable_shared_from_this<PartitionState> {
 public:
  PartitionState(std::shared_ptr<PartitionRunner> its_runner, size_t its_index,
                 std::string its_name, Lease its_lease);

  void HeedEnd();
  void RequestEnd(PartitionEnd why);
  // For the one who begins the work, or gives the partition back untold.
  bool Take() { return !taken_.exchange(true); }
  // From now on the end of the lease is no loss.
  void Releases() { released_ = true; }
  std::stop_token end() const { return end_.get_token(); }
  std::optional<PartitionEnd> reason() const;

  const std::shared_ptr<PartitionRunner> runner;
  const size_t which;
  const std::string name;
  Lease lease;

 private:
  struct OnEnd {
    std::weak_ptr<PartitionState> of;
    void operator()() const;
  };
  static constexpr int kNone = -1;

  std::stop_source end_;
  std::atomic<int> reason_ = kNone;
  std::atomic<bool> taken_ = false;
  std::atomic<bool> released_ = false;
  std::optional<std::stop_callback<OnEnd>> on_end_;  // destroyed first
};

struct PartitionMaker {
  static OwnedPartition Make(std::shared_ptr<PartitionState> state) {
    return OwnedPartition(std::move(state));
  }
  static std::shared_ptr<PartitionRunner> RunnerOf(const OwnedPartition& owned) {
    return owned.state_->runner;
  }
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_RECIPES_PARTITIONS_STATE_H_
