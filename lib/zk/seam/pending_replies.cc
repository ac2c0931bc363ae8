// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/pending_replies.h"

#include <utility>

namespace zkrecipes::zk::inline seam {

uint64_t PendingReplies::Add(Handle::Done done) {
  sent_.push_back(std::move(done));
  ++pending_;
  return front_id_ + sent_.size() - 1;
}

Handle::Done PendingReplies::Take(uint64_t id) {
  if (id < front_id_ || id - front_id_ >= sent_.size()) return nullptr;
  Handle::Done done = std::exchange(sent_[id - front_id_], nullptr);
  if (done != nullptr) --pending_;
  for (; !sent_.empty() && sent_.front() == nullptr; ++front_id_) sent_.pop_front();
  return done;
}

void PendingReplies::Answer(uint64_t id, Reply&& reply) {
  // Taken out first, since `done` may send the next request.
  if (Handle::Done done = Take(id); done != nullptr) std::move(done)(std::move(reply));
}

void PendingReplies::AnswerLater(Handle::Done done, Code code) {
  if (later_->empty()) {
    reactor_->Post([later = later_] { AnswerThese(*later); });
  }
  later_->emplace_back(std::move(done), code);
}

void PendingReplies::AnswerLater(uint64_t id, Code code) {
  if (Handle::Done done = Take(id); done != nullptr) AnswerLater(std::move(done), code);
}

void PendingReplies::AnswerAll(Code code) {
  // In the order of sending.
  std::deque<Handle::Done> sent = std::exchange(sent_, {});
  front_id_ += sent.size();
  pending_ = 0;
  AnswerThese(*later_);
  for (Handle::Done& done : sent) {
    if (done != nullptr) std::exchange(done, nullptr)(Reply{.code = code});
  }
}

void PendingReplies::AnswerThese(std::deque<Later>& later) {
  // Only the present ones. If `done` adds one, a new task is posted, as the queue is empty then.
  std::deque<Later> now = std::exchange(later, {});
  for (auto& [done, code] : now) std::move(done)(Reply{.code = code});
}

}  // namespace zkrecipes::zk::inline seam
