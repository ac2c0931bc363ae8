// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

#include "verification/explore/machine_world.h"
#include "verification/explore/sets.h"
#include "verification/explore/shrink.h"

namespace zkrecipes::explore {
namespace {

// Faults need not happen, and a holder need not release: checks what must hold if they do not.
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
      : budget_(budget), begun_(absl::Now()) {
    Visit(start);
    while (!stack_.empty() && violation_.empty() && !AtLimit()) Advance();
  }

  bool good() const { return violation_.empty(); }
  // How the state was reached that was visited last.
  std::vector<Transition> Path() const {
    std::vector<Transition> path;
    for (const Frame& frame : stack_) path.push_back(frame.steps[frame.next - 1]);
    return path;
  }
  void Print(const char* name) const {
    absl::PrintF("%-21s %9d states %9d steps %7d ends %3d deep %6.1f s  %s\n", name, seen_.size(),
                 steps_, ends_, deepest_, absl::ToDoubleSeconds(absl::Now() - begun_),
                 !good()          ? "VIOLATION"
                 : stack_.empty() ? "complete"
                                  : "not complete");
  }

 private:
  bool AtLimit() {
    if (seen_.size() >= budget_.states) return true;
    return steps_ % 1024 == 0 && absl::Now() - begun_ > budget_.time;
  }

  void Advance() {
    Frame& frame = stack_.back();
    if (frame.next == frame.steps.size()) return stack_.pop_back();
    ++steps_;
    const Transition step = frame.steps[frame.next++];
    // The last transition from a state may consume it.
    const bool last = frame.next == frame.steps.size();
    MachineWorld world = last ? std::move(frame.world) : frame.world;
    world.Take(step);
    Visit(std::move(world));
  }

  void Visit(MachineWorld world) {
    if (!seen_.insert(absl::HashOf(world)).second) return;
    Frame frame{std::move(world)};
    frame.world.List(frame.steps);
    if (CheckIfQuiet(frame.world, frame.steps)) ++ends_;
    violation_ = frame.world.violation();
    if (!good()) return;
    stack_.push_back(std::move(frame));
    deepest_ = std::max(deepest_, stack_.size());
  }

  const Budget budget_;
  const absl::Time begun_;
  absl::flat_hash_set<size_t> seen_;
  std::vector<Frame> stack_;
  uint64_t steps_ = 0;  // transitions tried, those to states seen before included
  uint64_t ends_ = 0;   // distinct states in which nothing more can happen
  size_t deepest_ = 0;
  std::string violation_;
};

// How this story goes, as far as it can.
struct Told {
  std::vector<Transition> taken{};
  std::string text{};       // what happened
  std::string violation{};  // what was wrong at its end
};

Told Replay(MachineWorld world, const std::vector<Transition>& story) {
  Told told;
  for (const Transition& transition : story) {
    if (!world.CanTake(transition)) continue;
    told.taken.push_back(transition);
    absl::StrAppend(&told.text, told.taken.size(), ". ", world.Describe(transition), "\n");
    world.Take(transition);
    if (!world.violation().empty()) break;
  }
  std::vector<Transition> more;
  world.List(more);
  (void)CheckIfQuiet(world, more);
  told.violation = world.violation();
  return told;
}

}  // namespace

bool Explore(const NamedSet& set, const Budget& budget) {
  const MachineWorld start(set);
  const Exploration exploration(start, budget);
  exploration.Print(set.name);
  if (!exploration.good()) {
    const auto replay = [&](const auto& fewer) -> std::optional<std::vector<Transition>> {
      Told told = Replay(start, fewer);
      if (told.violation.empty()) return std::nullopt;
      return std::move(told.taken);
    };
    const Told told = Replay(start, Shrink(exploration.Path(), replay));
    absl::PrintF("%sVIOLATION: %s\n", told.text, told.violation);
  }
  std::fflush(stdout);
  return exploration.good();
}

}  // namespace zkrecipes::explore
