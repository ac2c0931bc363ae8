// SPDX-License-Identifier: Apache-2.0
//
// What users do in a Scene, and what they are told.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/lease_state.h"
#include "verification/schedules/scene.h"

namespace zkrecipes::schedules {

using internal::Acquisition;

namespace {

constexpr absl::Duration kBrief = absl::Seconds(2);
constexpr absl::Duration kSessionTimeout = absl::Seconds(4);

}  // namespace

size_t Scene::OpenClient() {
  const auto host = simulation_.AddHost();
  const auto core =
      simulation_.NewClient(host, {.session_timeout = kSessionTimeout, .lease = options_.lease});
  core->Start([](const absl::Status&) {});
  processes_.push_back({host, core});
  return processes_.size() - 1;
}

bool Scene::Holds(size_t slot) const {
  const auto& attempt = slots_[slot];
  return attempt != nullptr && attempt->lease.has_value() && attempt->next == nullptr;
}

Attempt* Scene::NewestOf(size_t slot) const {
  const auto& attempt = slots_[slot];
  return attempt != nullptr && attempt->next != nullptr ? attempt->next.get() : attempt.get();
}

std::shared_ptr<Attempt> Scene::NewAttempt(size_t slot) {
  auto attempt = std::make_shared<Attempt>();
  attempt->core = processes_[current_[slot % current_.size()]].core;
  // Its answer may rest on what the server that is furthest behind still shows.
  attempt->since = model().last_zxid(0);
  for (int i = 1; i < servers(); ++i) {
    attempt->since = std::min(attempt->since, model().last_zxid(i));
  }
  attempts_.push_back(attempt);
  return attempt;
}

void Scene::Begin(size_t slot, MoveKind kind) {
  const std::shared_ptr<Attempt> attempt = NewAttempt(slot);
  attempt->mode = options_.modes.empty() ? queue::Mode::kExclusive : options_.modes[slot];
  attempt->try_only = kind == MoveKind::kTry;
  attempt->brief = kind == MoveKind::kAcquireBriefly;
  attempt->met_others = MeetsOthers(*attempt);
  slots_[slot] = attempt;
  Start(slot, attempt,
        {.mode = attempt->mode, .lock_delay = options_.lock_delay, .try_only = attempt->try_only});
}

std::optional<queue::Candidacy> Scene::GoingOn(size_t slot) const {
  if (!Holds(slot) || slots_[slot]->mode == queue::Mode::kExclusive) return std::nullopt;
  const Attempt& from = *slots_[slot];
  const bool reads = from.mode == queue::Mode::kShared;
  const queue::Candidacy candidacy{.mode =
                                       reads ? queue::Mode::kSharedWriter : queue::Mode::kShared};
  auto going_on = internal::GoingOnFrom(*from.core, kLockPath, *from.lease, from.mode, candidacy);
  return going_on.ok() ? std::optional(*going_on) : std::nullopt;  // its lease has ended
}

void Scene::GoUpOrDown(size_t slot) {
  const queue::Candidacy going_on = *GoingOn(slot);
  const std::shared_ptr<Attempt> from = slots_[slot];
  const std::shared_ptr<Attempt> next = NewAttempt(slot);
  next->core = from->core;
  next->mode = going_on.mode;
  next->closed = from->closed;
  next->from = from;
  from->next = next;
  Start(slot, next, going_on);
}

void Scene::Start(size_t slot, const std::shared_ptr<Attempt>& attempt,
                  const queue::Candidacy& candidacy) {
  WaitOptions wait;
  if (attempt->brief) wait.timeout = kBrief;
  wait.cancel = attempt->cancel.get_token();
  Acquisition::Start(attempt->core, kLockPath, candidacy, wait,
                     internal::OnExecutor<Acquisition::Answer>(
                         *attempt->core, [this, slot, attempt](Acquisition::Answer answer) {
                           OnAnswer(slot, attempt, std::move(answer));
                         }));
}

std::vector<std::shared_ptr<Attempt>> Scene::Live() const {
  std::vector<std::shared_ptr<Attempt>> live;
  for (const auto& attempt : slots_) {
    if (attempt == nullptr) continue;
    live.push_back(attempt);
    if (attempt->next != nullptr) live.push_back(attempt->next);
  }
  return live;
}

// Whether a node of another session is in some server's queue, or one of this session may be, of an
// earlier attempt.
bool Scene::MeetsOthers(const Attempt& attempt) {
  for (const auto& other : attempts_) {
    if (other.get() != &attempt && other->core == attempt.core) return true;
  }
  for (int i = 0; i < servers(); ++i) {
    for (const std::string& name : model().tree(i).Children(kLockPath)) {
      const testing::memory::Node* node = model().tree(i).Find(absl::StrCat(kLockPath, "/", name));
      if (node->owner != attempt.core->session_id()) return true;
    }
  }
  return false;
}

void Scene::OnAnswer(size_t slot, const std::shared_ptr<Attempt>& attempt,
                     Acquisition::Answer answer) {
  history_.Follow(model(), now());
  if (++attempt->answers > 1) Break("answered twice", absl::StrCat("slot ", slot));
  if (answer.ok() && answer->acquired()) {
    return OnGrant(slot, attempt, (*std::move(answer)).lease());
  }
  (attempt->from != nullptr ? attempt->from->next : slots_[slot]) = nullptr;
  if (!answer.ok()) return CheckError(slot, *attempt, answer.status());
  const bool met_others = attempt->met_others || MeetsOthers(*attempt) ||
                          history_.CreatedByOthers(attempt->since, attempt->core->session_id());
  if (!attempt->try_only || !met_others) {
    Break("busy though it was alone", absl::StrCat("slot ", slot));
  }
}

void Scene::OnGrant(size_t slot, const std::shared_ptr<Attempt>& attempt, Lease lease) {
  ++grants_;
  attempt->node = internal::LeaseMaker::StateOf(lease)->node_czxid();
  CheckGrant(*attempt, lease, absl::StrCat("slot ", slot, " with ", lease.node()));
  Check();  // that no other slot still believes
  if (delays()) CheckDelay(attempt, absl::StrCat("slot ", slot, " with ", lease.node()));
  attempt->lease = std::move(lease);
  attempt->gave_back = attempt->closed;  // before it heard of the grant
  attempt->on_lost.emplace(attempt->lease->lost(), [a = attempt.get()] { ++a->losses; });
  if (attempt->from == nullptr) return;
  slots_[slot] = attempt;
  attempt->from->next = nullptr;
  attempt->from->lease.reset();
}

void Scene::CheckGrant(const Attempt& attempt, const Lease& lease, const std::string& who) {
  const Attempt* const from = attempt.from.get();
  const int64_t followed = from != nullptr ? from->node : 0;
  if (!history_.WasAdmitted(attempt.node, followed)) Break("granted though never first", who);
  if (!granted_.insert(attempt.node).second) Break("granted twice", who);
  const bool downgraded = from != nullptr && attempt.mode == queue::Mode::kShared;
  const int64_t token = downgraded ? from->lease->token().value() : attempt.node;
  if (lease.token().value() != token) Break("granted a wrong token", who);
  if (from != nullptr && !history_.WasBornUnder(attempt.node, followed)) {
    Break("went on from a lease that had ended", who);
  }
}

// The delay is measured by the clock of the next holder, which may run a tenth fast.
void Scene::CheckDelay(const std::shared_ptr<Attempt>& attempt, const std::string& who) {
  if (last_ != nullptr && last_->node > attempt->node) return;  // it hears late of its grant
  const std::shared_ptr<Attempt> before = std::exchange(last_, attempt);
  if (before == nullptr || before->gave_back) return;
  const auto ended = history_.EndOf(before->node);
  if (!ended.has_value()) return;
  const absl::Duration waited = now() - *ended;
  if (waited < options_.lock_delay / 1.1) {
    Break("granted without the lock delay",
          absl::StrCat(who, ", after ", absl::FormatDuration(waited)));
  }
}

void Scene::CheckError(size_t slot, const Attempt& attempt, const absl::Status& status) {
  const bool explained = (attempt.cancelled && absl::IsCancelled(status)) ||
                         (attempt.brief && absl::IsDeadlineExceeded(status)) ||
                         (attempt.closed && absl::IsFailedPrecondition(status)) ||
                         (attempt.deleted && absl::IsAborted(status)) ||
                         (options_.next_sequence != 0 && absl::IsResourceExhausted(status)) ||
                         MayNotGoUpOrDown(attempt, status);
  if (!explained) {
    Break("unexpected answer", absl::StrCat("slot ", slot, ": ", status.ToString()));
  }
}

// The lease that it goes on from has ended; or, for an upgrade, there was another writer.
bool Scene::MayNotGoUpOrDown(const Attempt& attempt, const absl::Status& status) {
  const Attempt* const from = attempt.from.get();
  if (from == nullptr) return false;
  if (absl::IsFailedPrecondition(status)) {
    return attempt.mode != queue::Mode::kShared && history_.WritersSince(attempt.since) > 1;
  }
  return absl::IsAborted(status) &&
         (from->lease->state() == Lease::State::kLost || history_.nodes().count(from->node) == 0);
}

void Scene::CloseClient(uint32_t client) {
  const std::shared_ptr<internal::ClientCore> core = processes_[current_[client]].core;
  for (const auto& attempt : Live()) {
    if (attempt->core != core) continue;
    attempt->closed = true;
    if (attempt->lease.has_value()) attempt->gave_back = attempt->believes();
  }
  core->Close(std::make_shared<base::OneShot<absl::Status>>());
  current_[client] = OpenClient();
}

}  // namespace zkrecipes::schedules
