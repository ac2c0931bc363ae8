// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/election.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/listing/node_data.h"
#include "lib/queue/own_node/own_node_turns.h"
#include "verification/schedules/tenant.h"

namespace zkrecipes::schedules {

using testing::memory::Transaction;

void Election::Read(const Transaction& change) {
  using enum Transaction::Kind;
  if (change.kind == kCreate) nodes_[change.path] = change.zxid;
  if (change.kind == kCreate || change.kind == kSetData) {
    values_[nodes_[change.path]].push_back(queue::listing::ParseCandidate(change.node.data).value);
  }
}

// ---- observers ----------------------------------------------------------------------------------

void Election::ObserveOrStop(const Core& core) {
  const auto its = [&](const auto& o) { return o->core == core && !o->ended; };
  if (std::ranges::any_of(observers_, its)) return Stop(core);
  const auto observer = std::make_shared<Observer>(Observer{.core = core});
  observers_.push_back(observer);
  observer->subscription =
      queue::listing::Observe(core, kLockPath, [this, o = observer.get(), core](auto news) {
        Tell(*o, news);
        after_callback_(core);
      });
}

// Those that have ended stay, since an error must have been the last call.
void Election::Stop(const Core& core) {
  std::erase_if(observers_, [&](const auto& o) { return o->core == core && !o->ended; });
}

bool Election::Observes(zk::SessionId session) const {
  return std::ranges::any_of(observers_,
                             [&](const auto& o) { return o->core->session_id() == session; });
}

void Election::StopObserving() { observers_.clear(); }

void Election::Tell(Observer& observer, const queue::listing::LeaderNews& news) {
  follow_();
  if (observer.ended) break_("told after an error", "an observer");
  if (!news.ok()) {
    observer.ended = true;
    const bool explained =
        (closed_.count(observer.core) > 0 && absl::IsFailedPrecondition(news.status())) ||
        (denied_ && absl::IsPermissionDenied(news.status()));
    if (!explained) break_("unexpected answer", "an observer: " + news.status().ToString());
    return;
  }
  observer.told = *news;
  if (!news->has_value()) return CheckOrder(observer);
  const Leader& leader = **news;
  const auto values = values_.find(leader.token.value());
  // A stranger's node that counts as a contender may be told of wherever its number puts it.
  const bool was_one = values != values_.end() &&
                       (queue_.OwnerOf(values->first) == 0 || queue_.WasAdmitted(values->first, 0));
  if (!was_one || std::ranges::count(values->second, leader.value) == 0) {
    return break_("observed what never was", absl::StrCat(leader.node, ": ", leader.value));
  }
  CheckOrder(observer);
}

// A new session may begin at a server that is behind; and the first state told in it may have been
// read in the one before.
void Election::CheckOrder(Observer& observer) {
  if (std::exchange(observer.session, observer.core->session_id()) != observer.core->session_id()) {
    observer.tells = 0;
  }
  if (++observer.tells <= kUnordered) {
    observer.term = 0;
    observer.over = false;
    observer.read.clear();
  }
  const std::optional<Leader>& told = *observer.told;
  if (!told.has_value()) {
    observer.over = true;
    return;
  }
  const int64_t term = told->token.value();
  const bool older = term < observer.term || (term == observer.term && observer.over);
  // A value may be written twice; it is taken for the earliest that it can be.
  const auto& values = values_.at(term);
  size_t& read = observer.read[term];
  const auto value =
      std::find(values.begin() + static_cast<std::ptrdiff_t>(read), values.end(), told->value);
  // A stranger's node may come in front, and go again.
  if ((older && !queue_.strangers()) || value == values.end()) {
    break_("observed an older state", absl::StrCat(told->node, ": ", told->value));
  }
  read = static_cast<size_t>(value - values.begin());
  observer.term = term;
  observer.over = false;
}

void Election::CheckObservers() const {
  const int64_t first = queue_.First();
  for (const auto& observer : observers_) {
    if (closed_.count(observer->core) > 0 || observer->ended) continue;
    const auto& told = observer->told;
    const int64_t token = told.has_value() && told->has_value() ? (**told).token.value() : 0;
    const bool latest = told.has_value() && token == first &&
                        (first == 0 || (**told).value == values_.at(first).back());
    if (!latest)
      break_("not told of the latest leader", absl::StrCat(token, " instead of ", first));
  }
}

// ---- proclamations ------------------------------------------------------------------------------

// Weak: what is on its way outlives the world.
void Election::Proclaim(const Core& core, const std::shared_ptr<internal::LeaseState>& lease) {
  auto call = std::make_shared<Call>(
      Call{.core = core, .lease = lease, .czxid = lease->node_czxid(), .began = ++now_});
  call->value = absl::StrCat("value ", calls_.size());
  const queue::own_node::WriteJob job{"proclaim", [value = call->value](const std::string& data) {
                                        return queue::listing::CandidateData(
                                            queue::listing::ParseCandidate(data).id, value);
                                      }};
  calls_.push_back(call);
  call->turn =
      queue::own_node::Write(lease, job, {}, [weak = weak_from_this(), call](absl::Status status) {
        if (const auto self = weak.lock()) self->OnAnswer(call, status);
      });
}

std::shared_ptr<Election::Call> Election::LastOpen(int64_t czxid) const {
  const auto its = [&](const auto& call) { return call->czxid == czxid && call->open(); };
  const auto it = std::find_if(calls_.rbegin(), calls_.rend(), its);
  return it == calls_.rend() ? nullptr : *it;
}

void Election::Abandon(int64_t czxid) {
  const std::shared_ptr<Call> call = LastOpen(czxid);
  call->ended = ++now_;
  call->turn->TimeOut();
}

void Election::OnAnswer(const std::shared_ptr<Call>& call, const absl::Status& status) {
  if (!call->open()) return;
  call->ended = ++now_;
  call->ok = status.ok();
  follow_();
  if (!status.ok()) return CheckRefusal(call->core, *call->lease, status, "a proclamation");
  if (!WriteOf(*call).has_value()) break_("proclaimed though it is not set", call->value);
}

std::optional<size_t> Election::WriteOf(const Call& call) const {
  const auto& values = values_.at(call.czxid);
  const auto it = std::find(values.rbegin(), values.rend(), call.value);
  if (it == values.rend()) return std::nullopt;
  return static_cast<size_t>(values.rend() - it);
}

void Election::CheckProclamations() const {
  for (const auto& call : calls_) {
    if (call->open() && closed_.count(call->core) == 0) break_("never answered", "a proclamation");
    if (!call->ok) continue;
    for (const auto& other : calls_) {
      const bool before = other->czxid == call->czxid && other->ended < call->began;
      if (before && WriteOf(*other) > WriteOf(*call)) {
        break_("undid a later proclamation", absl::StrCat(other->value, " after ", call->value));
      }
    }
  }
}

}  // namespace zkrecipes::schedules
