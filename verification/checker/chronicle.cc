// SPDX-License-Identifier: Apache-2.0

#include "verification/checker/chronicle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace zkrecipes::history {

using What = Event::What;

int64_t Attempt::ProvenUntil() const {
  if (!granted()) return 0;
  int64_t promised = grant->until;
  for (const Event* belief : beliefs) promised = std::max(promised, belief->until);
  return release == nullptr ? promised : std::min(promised, release->at);
}

Chronicle::Chronicle(std::vector<Event> events) : events_(std::move(events)) {
  std::ranges::stable_sort(events_, {}, &Event::at);
  for (const Event& event : events_) {
    if (event.what == What::kQuiet) {
      quiet_ = event.at;
    } else if (event.what == What::kFault || event.what == What::kMended) {
      AddFault(event);
    } else if (event.attempt != 0) {
      AddToAttempt(event);
    } else {
      AddToProcess(event);
    }
  }
  for (const Attempt& attempt : attempts_) {
    if (attempt.granted()) grants_.push_back(&attempt);
  }
  std::ranges::stable_sort(grants_, {}, &Attempt::granted_at);
}

std::vector<const Attempt*>::const_iterator Chronicle::GrantsFrom(int64_t at) const {
  return std::ranges::lower_bound(grants_, at, {}, &Attempt::granted_at);
}

ProcessLife& Chronicle::CurrentProcess(const Event& event) {
  ProcessLife*& current = current_[event.who];
  if (current == nullptr || event.what == What::kStart) {
    const int number = current == nullptr ? 1 : current->number + 1;
    current = &processes_.emplace_back(
        ProcessLife{.who = event.who, .number = number, .started = event.at});
  }
  return *current;
}

void Chronicle::AddToProcess(const Event& event) {
  ProcessLife& process = CurrentProcess(event);
  if (event.what == What::kEnd) process.ended = event.at;
  if (event.what == What::kKilled) process.killed = event.at;
  if (event.what == What::kPaused) process.pauses.push_back({.begin = event.at});
  if (event.what == What::kPaused || process.pauses.empty()) return;
  const bool ends = event.what == What::kResumed || event.what == What::kKilled;
  int64_t& end = process.pauses.back().end;
  if (ends && end == kNever) end = event.at;
}

void Chronicle::AddToAttempt(const Event& event) {
  ProcessLife& process = CurrentProcess(event);
  Attempt*& attempt = by_number_[&process][event.attempt];
  if (attempt == nullptr) {
    attempt = &attempts_.emplace_back(
        Attempt{.who = event.who, .process = process.number, .number = event.attempt});
    process.attempts.push_back(attempt);
  }
  if (!event.path.empty()) attempt->path = event.path;
  attempt->mode = event.mode;
  if (event.from != 0 && attempt->from == nullptr) {
    const auto from = by_number_[&process].find(event.from);
    if (from != by_number_[&process].end()) attempt->from = from->second;
  }
  if (event.what == What::kBelief) attempt->beliefs.push_back(&event);
  static const std::map<What, const Event* Attempt::*> kOnce = {
      {What::kInvoke, &Attempt::invoke},   {What::kGrant, &Attempt::grant},
      {What::kFailed, &Attempt::failed},   {What::kLost, &Attempt::lost},
      {What::kRelease, &Attempt::release}, {What::kReleased, &Attempt::released}};
  const auto once = kOnce.find(event.what);
  if (once != kOnce.end()) attempt->*once->second = &event;
}

void Chronicle::AddFault(const Event& event) {
  if (event.what == What::kFault) {
    faults_.push_back({.name = event.who, .target = event.detail, .begin = event.at});
    return;
  }
  for (FaultSpan& fault : faults_) {
    if (fault.name != event.who || fault.end != kNever) continue;
    fault.end = event.at;
    if (fault.target.empty()) fault.target = event.detail;
  }
}

bool Conflict(const Attempt& a, const Attempt& b) {
  if (&a == &b || a.path != b.path || a.from == &b || b.from == &a) return false;
  return a.exclusive() || b.exclusive();
}

std::string NameOf(const Attempt& attempt) {
  std::string name = attempt.who;
  if (attempt.process > 1) absl::StrAppend(&name, " (process ", attempt.process, ")");
  absl::StrAppend(&name, "'s attempt ", attempt.number, " (",
                  attempt.exclusive() ? "exclusive, " : "shared, ", attempt.path);
  if (attempt.granted()) absl::StrAppend(&name, ", token ", attempt.token());
  return name + ")";
}

std::string When(const Chronicle& run, int64_t at) {
  return absl::StrFormat("%.3f s", static_cast<double>(at - run.begin()) * 1e-9);
}

}  // namespace zkrecipes::history
