// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/pending_replies.h"

namespace zkrecipes::zk {

uint64_t PendingReplies::Add(Handle::Done done) {
  sent_.emplace(next_id_, std::move(done));
  return next_id_++;
}

void PendingReplies::Answer(uint64_t id, const Reply& reply) {
  auto node = sent_.extract(id);  // first, since `done` may send the next request
  if (!node.empty()) std::move(node.mapped())(reply);
}

void PendingReplies::AnswerLater(Handle::Done done, Code code) {
  if (later_->empty()) {
    reactor_->Post([later = later_] { AnswerThese(*later); });
  }
  later_->emplace_back(std::move(done), code);
}

void PendingReplies::AnswerLater(uint64_t id, Code code) {
  auto node = sent_.extract(id);
  if (!node.empty()) AnswerLater(std::move(node.mapped()), code);
}

void PendingReplies::AnswerAll(Code code) {
  std::map<uint64_t, Handle::Done> sent = std::exchange(sent_, {});
  AnswerThese(*later_);
  for (auto& [id, done] : sent) std::move(done)(Reply{.code = code});
}

void PendingReplies::AnswerThese(std::deque<Later>& later) {
  // Only the present ones. If `done` adds one, a new task is posted, as the queue is empty then.
  std::deque<Later> now = std::exchange(later, {});
  for (auto& [done, code] : now) std::move(done)(Reply{.code = code});
}

}  // namespace zkrecipes::zk
