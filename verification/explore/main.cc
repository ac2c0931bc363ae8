// SPDX-License-Identifier: Apache-2.0
//
// zkrecipes-explore: visits every state of the small configurations of sets.h.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"

#include "verification/explore/sets.h"

namespace zkrecipes::explore {
namespace {

int List() {
  for (const NamedSet& set : Sets()) {
    const auto word = [&set](NamedSet::Trait trait, const char* text) {
      return set.Has(trait) ? text : "";
    };
    absl::PrintF("%-21s %s%s%s%s%s%s%s; %s%s\n", set.name, word(NamedSet::kLong, "(long) "),
                 set.who, word(NamedSet::kOneClient, " in one session"),
                 word(NamedSet::kLastApart, ", all but the last at rest in one session"),
                 word(NamedSet::kNoParent, ", no parent yet"),
                 word(NamedSet::kLag, ", servers that lag"),
                 word(NamedSet::kOverflow, " at the end of the sequence numbers"),
                 absl::StrCat("faults: ", set.most_faults),
                 word(NamedSet::kRough, " of: break, expire, give up"));
  }
  return 0;
}

// Whether there is a violation in any quick set, sought near the beginning of each first.
bool FindViolation() {
  for (const uint64_t states : {uint64_t{100'000}, UINT64_MAX}) {
    for (const NamedSet& set : Sets()) {
      if (set.quick() && !Explore(set, {.states = states})) return true;
    }
  }
  return false;
}

int Main(int argc, char** argv) {
  std::vector<std::string> known;
  for (const NamedSet& set : Sets()) known.push_back(set.name);
  CLI::App app("Visits every state of small configurations of contenders and faults");
  std::vector<std::string> names;
  double minutes = 1000;
  bool list = false;
  bool all = false;
  bool find = false;
  app.add_option("SET", names, "which (all that are quick)")->check(CLI::IsMember(known));
  app.add_option("--minutes", minutes, "for each set at most")->check(CLI::PositiveNumber);
  app.add_flag("--list", list, "say what there is");
  app.add_flag("--all", all, "the long ones too");
  app.add_flag("--find", find, "succeed at the first violation, fail without one");
  CLI11_PARSE(app, argc, argv);
  if (list) return List();
  if (find) return FindViolation() ? 0 : 1;
  bool good = true;
  for (const NamedSet& set : Sets()) {
    const bool named = std::ranges::count(names, set.name) > 0;
    if (names.empty() ? all || set.quick() : named) {
      good = Explore(set, {.time = absl::Minutes(minutes)}) && good;
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace zkrecipes::explore

int main(int argc, char** argv) { return zkrecipes::explore::Main(argc, argv); }
