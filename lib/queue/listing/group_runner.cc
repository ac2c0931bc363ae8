// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/group_runner.h"

#include <utility>
#include <variant>

#include "lib/base/random.h"

namespace zkrecipes::queue::listing {

namespace grouping = machine::grouping;

GroupRunner::GroupRunner(std::shared_ptr<internal::ClientCore> core, const std::string& path,
                         std::shared_ptr<Subscriber> subscriber)
    : PathFollower(std::move(core), path, "watch"),
      subscriber_(std::move(subscriber)),
      view_(parent()) {}

void GroupRunner::Handle(const machine::observing::Event& event) {
  std::visit([this](const auto& e) { CarryOut(*this, view_.On(e)); }, event);
}

void GroupRunner::TellLast(absl::Status why) { subscriber_->TellLatest(std::move(why)); }

void GroupRunner::Act(const grouping::action::StartPause& start) {
  After(base::Jittered(start.longest, reactor().Random()),
        [this, op = start.op] { CarryOut(*this, view_.On(grouping::event::PauseOver{op})); });
}

void GroupRunner::Act(const grouping::action::Tell& tell) { subscriber_->TellLatest(tell); }

}  // namespace zkrecipes::queue::listing
