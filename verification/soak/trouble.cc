// SPDX-License-Identifier: Apache-2.0

#include "verification/soak/trouble.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace zkrecipes::soak {
namespace {

// What may be done to one client during another fault: only what leaves the network and the servers
// alone, so that no fault mends another.
std::vector<const faults::Fault*> Companions() {
  std::vector<const faults::Fault*> found;
  for (const faults::Fault& fault : faults::Catalogue()) {
    if (fault.name == "kill_client" || absl::StartsWith(fault.name, "pause_client")) {
      found.push_back(&fault);
    }
  }
  return found;
}

bool HitsAClient(const faults::Fault& fault) { return absl::StrContains(fault.name, "client"); }

absl::Status Annotate(const faults::Fault& fault, const char* doing, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(doing, " ", fault.name, ": ", status.message()));
}

}  // namespace

Trouble::Trouble(faults::Scene& scene, history::Recorder& recorder, std::mt19937_64& random)
    : scene_(scene), recorder_(recorder), random_(random), for_clients_(Companions()) {}

absl::Status Trouble::Do(const faults::Fault& fault) {
  auto ongoing = Begin(fault);
  if (!ongoing.ok()) return ongoing.status();
  absl::Status status;
  if (!HitsAClient(fault) && random_() % 4 == 0) {
    absl::SleepFor(fault.lasts / 4);
    const faults::Fault& other = for_clients_.Draw(random_);
    auto meanwhile = Begin(other);
    if (!meanwhile.ok()) status = meanwhile.status();
    absl::SleepFor(fault.lasts / 2);
    if (meanwhile.ok()) status = End(other, *std::move(meanwhile));
    absl::SleepFor(fault.lasts / 4);
  } else {
    absl::SleepFor(fault.lasts);
  }
  status.Update(End(fault, *std::move(ongoing)));
  return status;
}

absl::StatusOr<faults::Ongoing> Trouble::Begin(const faults::Fault& fault) {
  // Recorded before it is known whom it hits: it may take a while to do.
  Record(history::Event::What::kFault, fault, "");
  auto ongoing = fault.Begin(scene_);
  if (!ongoing.ok()) return Annotate(fault, "cannot begin", ongoing.status());
  return ongoing;
}

absl::Status Trouble::End(const faults::Fault& fault, faults::Ongoing ongoing) {
  const std::string target = ongoing.target;
  const absl::Status status = std::move(ongoing.end)();
  Record(history::Event::What::kMended, fault, target);
  return Annotate(fault, "cannot end", status);
}

void Trouble::Record(history::Event::What what, const faults::Fault& fault,
                     const std::string& target) {
  recorder_.Record({.who = fault.name, .what = what, .detail = target});
}

}  // namespace zkrecipes::soak
