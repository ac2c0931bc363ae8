// SPDX-License-Identifier: Apache-2.0
//
// What users do in a Scene, and what they are told.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "explore/schedules/lock_path.h"
#include "explore/schedules/scene.h"

namespace zkrecipes::explore::schedules {

using internal::Acquisition;

namespace {

constexpr absl::Duration kBrief = absl::Seconds(2);
constexpr absl::Duration kSessionTimeout = absl::Seconds(4);

using StatusShot = base::OneShot<absl::Status>;

}  // namespace

size_t Scene::OpenClient() {
  Process process;
  process.host = simulation_.AddHost();
  process.core = simulation_.NewClient(
      process.host, {.session_timeout = kSessionTimeout, .lease = options_.lease});
  process.core->Start([](const absl::Status&) {});
  processes_.push_back(std::move(process));
  return processes_.size() - 1;
}

bool Scene::MakeUserMove(const Move& move) {
  const bool is_slot = move.who < slots_.size();
  const std::shared_ptr<Attempt> attempt = is_slot ? slots_[move.who] : nullptr;
  switch (move.kind) {
    case MoveKind::kAcquire:
    case MoveKind::kAcquireBriefly:
    case MoveKind::kTry:
      return is_slot && attempt == nullptr && Begin(move.who, move.kind);
    case MoveKind::kCancel:
      if (attempt == nullptr || !attempt->waiting() || attempt->cancelled) return false;
      attempt->cancelled = true;
      attempt->cancel.request_stop();
      return true;
    case MoveKind::kRelease:
      if (attempt == nullptr || !attempt->lease.has_value()) return false;
      slots_[move.who] = nullptr;
      attempt->lease.reset();
      return true;
    case MoveKind::kCloseClient:
      return move.who < current_.size() && CloseClient(move.who);
    default:
      return false;
  }
}

bool Scene::Begin(size_t slot, MoveKind kind) {
  auto attempt = std::make_shared<Attempt>();
  attempt->core = processes_[current_[slot % current_.size()]].core;
  attempt->try_only = kind == MoveKind::kTry;
  attempt->brief = kind == MoveKind::kAcquireBriefly;
  slots_[slot] = attempt;
  attempts_.push_back(attempt);
  // A try may rest on what the server furthest behind still shows.
  attempt->since = model().last_zxid(0);
  for (int i = 1; i < servers(); ++i) {
    attempt->since = std::min(attempt->since, model().last_zxid(i));
  }
  attempt->met_others = MeetsOthers(*attempt);
  WaitOptions wait;
  if (attempt->brief) wait.timeout = kBrief;
  wait.cancel = attempt->cancel.get_token();
  const queue::Mode mode = options_.modes.empty() ? queue::Mode::kExclusive : options_.modes[slot];
  const internal::Candidacy candidacy{kLockPath, mode, attempt->try_only, options_.lock_delay};
  Acquisition::Start(
      attempt->core, candidacy, wait,
      internal::OnExecutor(*attempt->core, [this, slot, attempt](Acquisition::Answer answer) {
        OnAnswer(slot, attempt, std::move(answer));
      }));
  return true;
}

// Whoever is in some server's queue now, or may be of an earlier attempt in this session.
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
  judge_.Follow(model());
  if (++attempt->answers > 1) Break(Rule::kAnsweredTwice, absl::StrCat("slot ", slot));
  if (answer.ok() && answer->acquired()) {
    return OnGrant(slot, attempt, (*std::move(answer)).lease());
  }
  slots_[slot] = nullptr;
  if (!answer.ok()) return CheckError(slot, *attempt, answer.status());
  const bool met_others = attempt->met_others || MeetsOthers(*attempt) ||
                          judge_.CreatedByOthers(attempt->since, attempt->core->session_id());
  if (!attempt->try_only || !met_others) {
    Break(Rule::kBusyAlone, absl::StrCat("slot ", slot));
  }
}

void Scene::OnGrant(size_t slot, const std::shared_ptr<Attempt>& attempt, Lease lease) {
  ++grants_;
  const int64_t token = lease.token().value();
  const std::string who = absl::StrCat("slot ", slot, " with ", lease.node());
  if (!judge_.WasAdmitted(token)) Break(Rule::kGrantedNotFirst, who);
  if (!granted_.insert(token).second) Break(Rule::kGrantedTwice, who);
  Check();  // that nobody else still believes
  attempt->lease = std::move(lease);
  attempt->on_lost.emplace(attempt->lease->lost(), [a = attempt.get()] { ++a->losses; });
}

void Scene::CheckError(size_t slot, const Attempt& attempt, const absl::Status& status) {
  const bool explained = (attempt.cancelled && absl::IsCancelled(status)) ||
                         (attempt.brief && absl::IsDeadlineExceeded(status)) ||
                         (attempt.closed && absl::IsFailedPrecondition(status)) ||
                         (attempt.deleted && absl::IsAborted(status)) ||
                         (options_.next_sequence != 0 && absl::IsResourceExhausted(status));
  if (!explained) {
    Break(Rule::kUnexpectedAnswer, absl::StrCat("slot ", slot, ": ", status.ToString()));
  }
}

bool Scene::CloseClient(uint32_t process) {
  const std::shared_ptr<internal::ClientCore> core = processes_[current_[process]].core;
  for (const auto& attempt : slots_) {
    if (attempt != nullptr && attempt->core == core) attempt->closed = true;
  }
  core->Close(std::make_shared<StatusShot>());
  current_[process] = OpenClient();
  return true;
}

}  // namespace zkrecipes::explore::schedules
