// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/pending_replies.h"

#include <algorithm>

namespace zkrecipes::zk::inline seam {

uint64_t PendingReplies::Add(Handle::Done done) {
  sent_.emplace_back(++last_id_, std::move(done));
  return last_id_;
}

Handle::Done PendingReplies::Take(uint64_t id) {
  const auto found =
      std::ranges::lower_bound(sent_, id, {}, [](const auto& sent) { return sent.first; });
  if (found == sent_.end() || found->first != id) return nullptr;
  Handle::Done done = std::move(found->second);
  sent_.erase(found);
  return done;
}

void PendingReplies::Answer(uint64_t id, Reply&& reply) {
  // Taken out first, since `done` may send the next request.
  if (Handle::Done done = Take(id); done != nullptr) std::move(done)(std::move(reply));
}

void PendingReplies::AnswerLater(Handle::Done done, Code code) {
  // One task answers all that come until it runs. It shares the queue with this object, so that it
  // answers them even if the handle is closed and gone by then.
  if (later_->empty()) {
    reactor_->Post([later = later_] { AnswerThese(*later); });
  }
  later_->emplace_back(std::move(done), code);
}

void PendingReplies::AnswerLater(uint64_t id, Code code) {
  if (Handle::Done done = Take(id); done != nullptr) AnswerLater(std::move(done), code);
}

void PendingReplies::AnswerAll(Code code) {
  // Taken out first: an answer may send the next request, which is not to be answered here.
  auto sent = std::exchange(sent_, {});
  AnswerThese(*later_);
  for (auto& [id, done] : sent) std::exchange(done, nullptr)(Reply{.code = code});
}

void PendingReplies::AnswerThese(std::deque<Later>& later) {
  // Only the present ones. If `done` adds one, a new task is posted, as the queue is empty then.
  std::deque<Later> now = std::exchange(later, {});
  for (auto& [done, code] : now) std::move(done)(Reply{.code = code});
}

}  // namespace zkrecipes::zk::inline seam
