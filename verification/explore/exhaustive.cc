// SPDX-License-Identifier: Apache-2.0

#include "verification/explore/exhaustive.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace zkrecipes::explore {
namespace {

// Faults need not happen, and a holder need not release. What holds if they do not?
// Returns whether this is an end.
bool CheckIfQuiet(MachineWorld& world, const std::vector<Step>& steps) {
  if (!world.violation().empty()) return false;
  bool end = true;
  for (const Step& step : steps) {
    if (IsFault(step.kind)) continue;
    if (!IsChoice(step.kind)) return false;
    end = false;
  }
  world.CheckQuiet();
  if (end) world.CheckEnd();
  return end;
}

// A state on the way, and which of its steps is to be tried next.
struct Frame {
  MachineWorld world;
  std::vector<Step> steps{};
  size_t next = 0;
};

class Search {
 public:
  Search(const MachineWorld& start, const Limits& limits)
      : limits_(limits), until_(absl::Now() + limits.time) {
    Visit(start);
  }

  Findings Run() {
    while (!stack_.empty() && found_.violation.empty() && !AtLimit()) Advance();
    found_.complete = stack_.empty() && found_.violation.empty();
    return std::move(found_);
  }

 private:
  bool AtLimit() {
    if (found_.states >= limits_.states) return true;
    return found_.steps % 1024 == 0 && absl::Now() > until_;
  }

  void Advance() {
    Frame& frame = stack_.back();
    if (frame.next == frame.steps.size()) return stack_.pop_back();
    ++found_.steps;
    const Step step = frame.steps[frame.next++];
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
    frame.world.ListSteps(frame.steps);
    if (CheckIfQuiet(frame.world, frame.steps)) ++found_.ends;
    if (!frame.world.violation().empty()) return Report(frame.world.violation());
    stack_.push_back(std::move(frame));
    found_.deepest = std::max<uint64_t>(found_.deepest, stack_.size());
  }

  void Report(const std::string& violation) {
    found_.violation = violation;
    for (const Frame& frame : stack_) found_.story.push_back(frame.steps[frame.next - 1]);
  }

  const Limits limits_;
  const absl::Time until_;
  absl::flat_hash_set<size_t> seen_;
  std::vector<Frame> stack_;
  Findings found_;
};

// Leaves out whatever is not needed for a violation, in halves, quarters, and so on.
void Shorten(const MachineWorld& start, std::vector<Step>& story) {
  for (size_t length = story.size(); length > 0; length = length == 1 ? 0 : (length + 1) / 2) {
    for (size_t begin = 0; begin < story.size();) {
      std::vector<Step> shorter = story;
      const auto from = shorter.begin() + static_cast<ptrdiff_t>(begin);
      const auto count = static_cast<ptrdiff_t>(std::min(length, story.size() - begin));
      shorter.erase(from, from + count);
      std::vector<Step> taken;
      if (Replay(start, shorter, &taken).empty() || taken.size() >= story.size()) {
        begin += length;
      } else {
        story = std::move(taken);
      }
    }
  }
}

}  // namespace

Findings Exhaust(const MachineWorld& start, const Limits& limits) {
  Findings found = Search(start, limits).Run();
  if (!found.violation.empty()) {
    Shorten(start, found.story);
    std::vector<Step> taken;
    found.violation = Replay(start, found.story, &taken);
  }
  return found;
}

std::string Replay(const MachineWorld& start, const std::vector<Step>& steps,
                   std::vector<Step>* taken) {
  MachineWorld world = start;
  for (const Step& step : steps) {
    if (!world.CanTake(step)) continue;
    world.Take(step);
    taken->push_back(step);
    if (!world.violation().empty()) return world.violation();
  }
  std::vector<Step> more;
  world.ListSteps(more);
  (void)CheckIfQuiet(world, more);
  return world.violation();
}

std::string Tell(const MachineWorld& start, const std::vector<Step>& steps) {
  MachineWorld world = start;
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    absl::StrAppend(&text, i + 1, ". ", world.Describe(steps[i]), "\n");
    world.Take(steps[i]);
  }
  return text;
}

}  // namespace zkrecipes::explore
