// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_PENDING_REPLIES_H_
#define ZKRECIPES_LIB_ZK_SEAM_PENDING_REPLIES_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::zk::inline seam {

// The answers that a handle still owes: each request is answered exactly once. The C client is
// given a number, never a pointer, so no harm is done if it forgets one or uses it twice.
// For tasks of the reactor.
class PendingReplies {
 public:
  explicit PendingReplies(Reactor* reactor)
      : reactor_(reactor), later_(std::make_shared<std::deque<Later>>()) {}

  // The number of a request that is about to be sent. Never 0.
  uint64_t Add(Handle::Done done);

  // No effect if it has been answered.
  void Answer(uint64_t id, Reply&& reply);

  // The request was not sent: a task of the reactor answers it, because `done` never runs inside
  // Send. The task runs even if this object is destroyed first.
  void AnswerLater(Handle::Done done, Code code);
  void AnswerLater(uint64_t id, Code code);

  // Answers everything that is pending at this moment, before it returns.
  void AnswerAll(Code code);

  int size() const { return static_cast<int>(sent_.size() + later_->size()); }

 private:
  using Later = std::pair<Handle::Done, Code>;
  Handle::Done Take(uint64_t id);  // null if it has been answered
  static void AnswerThese(std::deque<Later>& later);

  Reactor* const reactor_;
  std::deque<std::pair<uint64_t, Handle::Done>> sent_;  // by number: in the order of sending
  uint64_t last_id_ = 0;
  const std::shared_ptr<std::deque<Later>> later_;  // shared with the posted task
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_PENDING_REPLIES_H_
