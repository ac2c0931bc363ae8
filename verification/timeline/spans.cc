// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <utility>

#include "verification/timeline/timeline.h"

namespace zkrecipes::history {
namespace {

using Phase = Span::Phase;

// A process that was stopped for too long hears of its loss at once.
constexpr int64_t kSoon = 500'000'000;

Phase PhaseOf(const std::string& state) {
  if (state == "held") return Phase::kHeld;
  if (state == "suspect") return Phase::kSuspect;
  return state == "unproven" ? Phase::kUnproven : Phase::kLost;
}

class Spans {
 public:
  explicit Spans(int64_t begin) : from_(begin) {}

  // The phase begins there; the one before ends.
  void Turn(int64_t at, Phase phase) {
    if (phase == phase_) return;
    Add(at);
    phase_ = phase;
  }
  std::vector<Span> End(int64_t at) && {
    Add(at);
    return std::move(spans_);
  }

 private:
  void Add(int64_t at) {
    if (at > from_ || spans_.empty()) spans_.push_back({phase_, from_, std::max(at, from_)});
    from_ = std::max(at, from_);
  }

  std::vector<Span> spans_;
  Phase phase_ = Phase::kWaiting;
  int64_t from_;
};

int64_t TimeOf(const Event* event) { return event == nullptr ? kNever : event->at; }

int64_t LossOf(const Attempt& attempt) {
  int64_t lost = TimeOf(attempt.lost);
  for (const Event* belief : attempt.beliefs) {
    if (PhaseOf(belief->state) == Phase::kLost) lost = std::min(lost, belief->at);
  }
  return lost;
}

// The pause that the lease did not live through, if that is how it was lost.
const ProcessLife::Pause* Fatal(const Attempt& attempt, const ProcessLife& process) {
  const int64_t lost = LossOf(attempt);
  for (const ProcessLife::Pause& pause : process.pauses) {
    const auto soon = pause.end == kNever ? kNever : pause.end + kSoon;
    if (lost != kNever && attempt.granted_at() < pause.begin && lost >= pause.begin &&
        lost <= soon) {
      return &pause;
    }
  }
  return nullptr;
}

// Until it is given up or its process ends.
void Hold(const Attempt& attempt, const ProcessLife& process, int64_t until, Spans& spans) {
  spans.Turn(attempt.granted_at(), PhaseOf(attempt.grant->state));
  const ProcessLife::Pause* pause = Fatal(attempt, process);
  const int64_t known = std::min(pause == nullptr ? LossOf(attempt) : pause->begin, until);
  for (const Event* belief : attempt.beliefs) {
    if (belief->at < known) spans.Turn(belief->at, PhaseOf(belief->state));
  }
  if (known >= until) return;
  if (pause != nullptr && attempt.ProvenUntil() > known) {
    spans.Turn(known, Phase::kPromised);
    spans.Turn(std::min(attempt.ProvenUntil(), until), Phase::kLost);
  } else {
    spans.Turn(known, Phase::kLost);
  }
}

}  // namespace

std::vector<Span> SpansOf(const Attempt& attempt, const ProcessLife& process, int64_t end) {
  const int64_t over = process.EndIn(end);
  Spans spans(attempt.invoke != nullptr ? attempt.asked_at()
                                        : std::min(TimeOf(attempt.grant), over));
  if (!attempt.granted()) return std::move(spans).End(std::min(TimeOf(attempt.failed), over));
  const int64_t given_up = std::min(TimeOf(attempt.release), over);
  Hold(attempt, process, given_up, spans);
  if (attempt.release != nullptr) {
    spans.Turn(given_up, Phase::kReleasing);
    return std::move(spans).End(attempt.released != nullptr ? attempt.released->at : given_up);
  }
  const int64_t promised = attempt.ProvenUntil();
  if (process.killed == kNever || promised <= over) return std::move(spans).End(over);
  spans.Turn(over, Phase::kPromised);
  return std::move(spans).End(promised);
}

}  // namespace zkrecipes::history
