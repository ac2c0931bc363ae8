// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/sequencer_cache.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/process.h"
#include "lib/queue/ask.h"
#include "lib/queue/asking.h"
#include "lib/queue/async_call.h"
#include "lib/queue/sequencer_keeper.h"
#include "lib/session/client_core.h"
#include "lib/session/client_options.h"

namespace zkrecipes {
namespace {

using internal::ClientCore;
using internal::SequencerKeeper;
using Held = SequencerKeeper::Held;

absl::Status CheckOptions(const SequencerCacheOptions& options) {
  const absl::Duration max_age = options.max_age;
  if (max_age <= absl::ZeroDuration() || max_age == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat("max age \"", absl::FormatDuration(max_age),
                                                   "\": must be more than zero, and finite"));
  }
  if (options.max_entries == 0) {
    return absl::InvalidArgumentError("max entries \"0\": must be at least one");
  }
  return absl::OkStatus();
}

absl::StatusOr<Held> Ask(const std::shared_ptr<SequencerKeeper>& keeper, const Sequencer& sequencer,
                         const std::string& what, const WaitOptions& wait) {
  const auto ask = [&](absl::AnyInvocable<void(absl::StatusOr<Held>) &&> done) {
    return [keeper, sequencer, done = std::move(done)](session::Session&) mutable {
      keeper->Ask(sequencer, std::move(done));
    };
  };
  return internal::AskUntilAnswered<Held>(keeper->core(), what, wait, ask);
}

absl::Status TooOld(const std::string& what) {
  return absl::DeadlineExceededError(absl::StrCat(
      what, ": no answer was young enough when it came (max age is less than a round trip?)"));
}

// Asks until an answer is young enough when it is here.
absl::StatusOr<bool> AskForAYoungOne(const std::shared_ptr<SequencerKeeper>& keeper,
                                     const Sequencer& sequencer, const WaitOptions& wait) {
  const std::string what = "check " + sequencer.node;
  const base::BootTime deadline = keeper->core().Now() + wait.timeout;
  for (absl::Duration left = wait.timeout;;) {
    const absl::StatusOr<Held> held = Ask(keeper, sequencer, what, {left, wait.cancel});
    if (!held.ok()) return held.status();
    if (!held->has_value()) return false;
    if (keeper->IsYoung(**held)) return true;
    left = deadline - keeper->core().Now();
    if (left <= absl::ZeroDuration()) return TooOld(what);
  }
}

// The same without blocking. On the executor, so that the age counts up to the callback.
class AsyncCheck : public std::enable_shared_from_this<AsyncCheck> {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<bool>) &&>;

  AsyncCheck(std::shared_ptr<SequencerKeeper> keeper, Sequencer sequencer, WaitOptions wait,
             Done done)
      : keeper_(std::move(keeper)),
        sequencer_(std::move(sequencer)),
        cancel_(std::move(wait.cancel)),
        deadline_(keeper_->core().Now() + wait.timeout),
        done_(std::move(done)) {}

  void Run() {
    if (const auto known = keeper_->Find(sequencer_)) return std::move(done_)(*known);
    const absl::Status form = queue::CheckSequencerForm(sequencer_);
    form.ok() ? Ask() : std::move(done_)(form);
  }

 private:
  void Ask() {
    const auto held = std::make_shared<Held>();
    const auto question = [keeper = keeper_, sequencer = sequencer_, held](
                              session::Session&, internal::AsyncCall::Done answer) {
      keeper->Ask(sequencer,
                  [held, answer = std::move(answer)](absl::StatusOr<Held> answered) mutable {
                    if (answered.ok()) *held = *answered;
                    std::move(answer)(answered.status());
                  });
    };
    const std::shared_ptr<ClientCore>& core = keeper_->shared_core();
    const absl::Duration left = std::max(absl::ZeroDuration(), deadline_ - core->Now());
    internal::Asking::Start(core, "check " + sequencer_.node, {left, cancel_}, question,
                            internal::OnExecutor<absl::Status>(
                                *core, [self = shared_from_this(), held](absl::Status status) {
                                  self->OnAnswer(std::move(status), *held);
                                }));
  }

  void OnAnswer(absl::Status status, const Held& held) {
    if (!status.ok()) return std::move(done_)(std::move(status));
    if (!held.has_value()) return std::move(done_)(false);
    if (keeper_->IsYoung(*held)) return std::move(done_)(true);
    if (keeper_->core().Now() < deadline_) return Ask();
    std::move(done_)(TooOld("check " + sequencer_.node));
  }

  const std::shared_ptr<SequencerKeeper> keeper_;
  const Sequencer sequencer_;
  const std::stop_token cancel_;
  const base::BootTime deadline_;
  Done done_;
};

}  // namespace

SequencerCache::SequencerCache(std::shared_ptr<Client> client, SequencerCacheOptions options)
    : client_(std::move(client)),
      options_ok_(CheckOptions(options)),
      keeper_(SequencerKeeper::Start(internal::ClientAccess::Core(*client_), options.max_age,
                                     options.max_entries)) {}

// In a forked child a thread that does not exist there may hold a mutex.
SequencerCache::~SequencerCache() {
  keeper_->core().InHomeProcess() ? keeper_->Stop() : base::Leak(keeper_);
}

absl::StatusOr<bool> SequencerCache::Check(const Sequencer& sequencer,
                                           const WaitOptions& wait) const {
  const std::shared_ptr<SequencerKeeper> keeper = keeper_;  // this may be destroyed meanwhile
  for (const absl::Status& status :
       {options_ok_, internal::CheckWaitOptions(wait), keeper->core().CheckMayBlock()}) {
    if (!status.ok()) return status;
  }
  if (const auto known = keeper->Find(sequencer)) return *known;
  if (absl::Status form = queue::CheckSequencerForm(sequencer); !form.ok()) return form;
  return AskForAYoungOne(keeper, sequencer, wait);
}

void SequencerCache::CheckAsync(const Sequencer& sequencer, WaitOptions wait,
                                absl::AnyInvocable<void(absl::StatusOr<bool>) &&> done) const {
  const ClientCore& core = keeper_->core();
  absl::Status fit = options_ok_;
  fit.Update(internal::CheckWaitOptions(wait));
  if (!core.InHomeProcess()) fit.Update(core.CheckMayBlock());  // says why not
  if (!fit.ok()) return internal::OnExecutor<absl::StatusOr<bool>>(core, std::move(done))(fit);
  core.executor()->Execute(
      [check = std::make_shared<AsyncCheck>(keeper_, sequencer, std::move(wait), std::move(done))] {
        check->Run();
      });
}

size_t SequencerCache::size() const {
  return keeper_->core().InHomeProcess() ? keeper_->table().size() : 0;
}

}  // namespace zkrecipes
