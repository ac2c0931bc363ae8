// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/pending_replies.h"

#include <iterator>
#include <map>

namespace zkrecipes::zk {

uint64_t PendingReplies::Add(Handle::Done done) {
  sent_.emplace(next_id_, std::move(done));
  return next_id_++;
}

Handle::Done PendingReplies::Take(uint64_t id) {
  const auto it = sent_.find(id);
  if (it == sent_.end()) return nullptr;
  Handle::Done done = std::move(it->second);
  sent_.erase(it);
  return done;
}

void PendingReplies::Answer(uint64_t id, const Reply& reply) {
  // Taken out first, since `done` may send the next request.
  if (Handle::Done done = Take(id); done != nullptr) std::move(done)(reply);
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
  std::map<uint64_t, Handle::Done> sent(std::make_move_iterator(sent_.begin()),
                                        std::make_move_iterator(sent_.end()));
  sent_.clear();
  AnswerThese(*later_);
  for (auto& [id, done] : sent) std::move(done)(Reply{.code = code});
}

void PendingReplies::AnswerThese(std::deque<Later>& later) {
  // Only the present ones. If `done` adds one, a new task is posted, as the queue is empty then.
  std::deque<Later> now = std::exchange(later, {});
  for (auto& [done, code] : now) std::move(done)(Reply{.code = code});
}

}  // namespace zkrecipes::zk
