// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_REGISTER_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_REGISTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "lib/queue/lease/lease_state.h"
#include "lib/queue/own_node/own_node_turns.h"
#include "verification/schedules/queue_history.h"

namespace zkrecipes::schedules {

// Guarded writes in a LockWorld: holders that write to a node of their own, whatever
// becomes of their leases. They use the code that GuardedWrite runs. Each write sets the register
// and creates a node of its own name, so what was committed, when and how often is in the
// ensemble's history.
class Register : public HistoryReader, public std::enable_shared_from_this<Register> {
 public:
  using HistoryReader::HistoryReader;

  void Create(base::BootTime now);  // the node

  void Write(const Core& core, const std::shared_ptr<internal::LeaseState>& lease);
  // The lease's last write that is not answered.
  bool Writes(int64_t czxid) const { return LastOpen(czxid) != nullptr; }
  void GiveUp(int64_t czxid);  // REQUIRES: Writes(czxid)

  // Once all is quiet: every write was answered, and is what was said of it.
  void CheckWrites() const;

 private:
  struct Attempt {
    Core core;
    std::shared_ptr<internal::LeaseState> lease;
    size_t number = 0;
    std::shared_ptr<queue::own_node::OwnNodeTurn> turn = {};
    // Once it is answered, or given up: whether it was said to be written; nullopt: not known.
    bool ended = false;
    std::optional<bool> told = std::nullopt;
    int committed = 0;
  };

  void Read(const testing::memory::Transaction& change) override;
  std::shared_ptr<Attempt> LastOpen(int64_t czxid) const;
  void OnAnswer(const std::shared_ptr<Attempt>& write, const absl::Status& status);
  void CheckTruth(const Attempt& write) const;

  std::vector<std::shared_ptr<Attempt>> writes_;
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_REGISTER_H_
