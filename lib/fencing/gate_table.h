// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_GATE_TABLE_H_
#define ZKRECIPES_LIB_FENCING_GATE_TABLE_H_

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "lib/base/mutex.h"
#include "lib/fencing/fence.h"

namespace zkrecipes::internal {

// The fences of a gate, by key, in parts that are locked one by one. A part that is full folds the
// fence that was not used for longest, as far as a second chance in a line tells (the clock
// algorithm). Thread-safe.
class GateTable {
 public:
  GateTable(std::shared_ptr<SharedStore> store, size_t max_keys);

  // Of the store, before any other call.
  void Restore(const std::string& key, const FencingFloor& floor);

  absl::StatusOr<std::shared_ptr<Fence>> Of(const std::string& key);

  size_t keys() const;
  FencingFloor common_floor() const { return common_.floor(); }

 private:
  static constexpr size_t kParts = 16;
  struct Slot {
    std::shared_ptr<Fence> fence;
    bool used = false;  // since it was last at the head of the line
  };
  using Map = absl::flat_hash_map<std::string, Slot>;
  struct Part {
    mutable base::Mutex mutex;
    Map slots ABSL_GUARDED_BY(mutex);
    std::deque<std::string> line ABSL_GUARDED_BY(mutex);
  };

  Part& PartOf(const std::string& key);
  absl::Status MakeRoom(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(part.mutex);
  absl::Status Fold(Part& part, const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(part.mutex);

  const std::shared_ptr<SharedStore> store_;
  const size_t max_keys_of_a_part_;
  Fence common_;
  std::array<Part, kParts> parts_;
};

}  // namespace zkrecipes::internal

#endif  // ZKRECIPES_LIB_FENCING_GATE_TABLE_H_
