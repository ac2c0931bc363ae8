// SPDX-License-Identifier: Apache-2.0

#include "verification/explore/exhaustive.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "verification/explore/shrink.h"

namespace zkrecipes::explore {
namespace {

// Faults need not happen, and a holder need not release. What holds if they do not?
// Returns whether this is an end.
bool CheckIfQuiet(MachineWorld& world, const std::vector<Transition>& steps) {
  if (!world.violation().empty()) return false;
  bool end = true;
  for (const Transition& step : steps) {
    if (step.IsFault()) continue;
    if (!step.IsChoice()) return false;
    end = false;
  }
  world.CheckQuiet();
  if (end) world.CheckEnd();
  return end;
}

// A state on the way, and which transition is to be tried next.
struct Frame {
  MachineWorld world;
  std::vector<Transition> steps{};
  size_t next = 0;
};

class Exploration {
 public:
  Exploration(const MachineWorld& start, const Budget& budget)
      : budget_(budget), until_(absl::Now() + budget.time) {
    Visit(start);
  }

  Findings Run() {
    while (!stack_.empty() && found_.violation.empty() && !AtLimit()) Advance();
    found_.complete = stack_.empty() && found_.violation.empty();
    return std::move(found_);
  }

 private:
  bool AtLimit() {
    if (found_.states >= budget_.states) return true;
    return found_.steps % 1024 == 0 && absl::Now() > until_;
  }

  void Advance() {
    Frame& frame = stack_.back();
    if (frame.next == frame.steps.size()) return stack_.pop_back();
    ++found_.steps;
    const Transition step = frame.steps[frame.next++];
    // The last way on from a state may have the state itself.
    const bool last = frame.next == frame.steps.size();
    MachineWorld world = last ? std::move(frame.world) : frame.world;
    world.Take(step);
    Visit(std::move(world));
  }

  void Visit(MachineWorld world) {
    if (!seen_.insert(absl::HashOf(world)).second) return;
    ++found_.states;
    Frame frame{std::move(world)};
    frame.world.List(frame.steps);
    if (CheckIfQuiet(frame.world, frame.steps)) ++found_.ends;
    if (!frame.world.violation().empty()) return Report(frame.world.violation());
    stack_.push_back(std::move(frame));
    found_.deepest = std::max<uint64_t>(found_.deepest, stack_.size());
  }

  void Report(const std::string& violation) {
    found_.violation = violation;
    for (const Frame& frame : stack_) found_.story.push_back(frame.steps[frame.next - 1]);
  }

  const Budget budget_;
  const absl::Time until_;
  absl::flat_hash_set<size_t> seen_;
  std::vector<Frame> stack_;
  Findings found_;
};

// How this story ends, as far as it can be told: what happened, and what was wrong then.
struct Ending {
  std::vector<Transition> taken{};
  std::string violation{};
};

Ending Replay(const MachineWorld& start, const std::vector<Transition>& story) {
  MachineWorld world = start;
  Ending ending;
  for (const Transition& transition : story) {
    if (!world.CanTake(transition)) continue;
    world.Take(transition);
    ending.taken.push_back(transition);
    if (!world.violation().empty()) break;
  }
  std::vector<Transition> more;
  world.List(more);
  (void)CheckIfQuiet(world, more);
  ending.violation = world.violation();
  return ending;
}

}  // namespace

Findings Exhaust(const MachineWorld& start, const Budget& budget) {
  Findings found = Exploration(start, budget).Run();
  if (found.violation.empty()) return found;
  found.story = Shrink(std::move(found.story),
                       [&](const auto& fewer) -> std::optional<std::vector<Transition>> {
                         Ending ending = Replay(start, fewer);
                         if (ending.violation.empty()) return std::nullopt;
                         return std::move(ending.taken);
                       });
  found.violation = Replay(start, found.story).violation;
  return found;
}

std::string Tell(const MachineWorld& start, const std::vector<Transition>& story) {
  MachineWorld world = start;
  std::string text;
  for (size_t i = 0; i < story.size(); ++i) {
    absl::StrAppend(&text, i + 1, ". ", world.Describe(story[i]), "\n");
    world.Take(story[i]);
  }
  return text;
}

}  // namespace zkrecipes::explore
