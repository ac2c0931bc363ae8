// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"

#include "verification/checker/rule.h"

namespace zkrecipes::history {
namespace {

// A resource as the one under test should be: it refuses who has been overtaken.
class Gate {
 public:
  // The write that this one comes too late behind; null if it may pass.
  const Event* Admit(const Event& write) {
    const Event*& limit = write.mode == Event::Mode::kExclusive ? any_ : exclusive_;
    if (limit != nullptr && write.token < limit->token) return limit;
    if (any_ == nullptr || write.token > any_->token) any_ = &write;
    if (write.mode != Event::Mode::kExclusive) return nullptr;
    if (exclusive_ == nullptr || write.token > exclusive_->token) exclusive_ = &write;
    return nullptr;
  }

 private:
  const Event* any_ = nullptr;
  const Event* exclusive_ = nullptr;
};

std::string Name(const Event& write) {
  return absl::StrCat(write.who, "'s ",
                      write.mode == Event::Mode::kExclusive ? "exclusive" : "shared", " write ",
                      write.order, " to ", write.path, " with token ", write.token);
}

}  // namespace

Complaints StaleWrite(const Evidence& evidence) {
  std::map<int64_t, const Event*> accepted;  // in the resource's order
  for (const Event& event : evidence.story.events()) {
    if (event.what == Event::What::kWrite && event.accepted) accepted.emplace(event.order, &event);
  }
  Complaints complaints;
  std::map<std::string, Gate> gates;
  for (const auto& [order, write] : accepted) {
    const Event* before = gates[write->path].Admit(*write);
    if (before == nullptr) continue;
    complaints.push_back(
        {.what = absl::StrCat(Name(*write), " was accepted at ", When(evidence.story, write->at),
                              ", behind ", Name(*before)),
         .at = write->at,
         .events = {*before, *write}});
  }
  return complaints;
}

}  // namespace zkrecipes::history
