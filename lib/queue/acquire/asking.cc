// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/asking.h"

#include <utility>

#include "lib/base/random.h"
#include "lib/session/retry_pauses.h"

namespace zkrecipes::queue::acquire {

void Asking::Start(const std::shared_ptr<internal::ClientCore>& core, const std::string& what,
                   const WaitOptions& wait, Question question, AsyncCall::Done done) {
  auto call = AsyncCall::Begin(core, wait, what + ": not answered in time", std::move(done));
  std::shared_ptr<Asking> asking(new Asking(core, std::move(question), std::move(call)));
  core->Post([asking](session::Session* session) { asking->Begin(session); });
}

Asking::Asking(std::shared_ptr<internal::ClientCore> core, Question question,
               std::shared_ptr<AsyncCall> call)
    : core_(std::move(core)), question_(std::move(question)), call_(std::move(call)) {}

void Asking::Begin(session::Session* session) {
  if (session == nullptr) return OnClosing();
  session_ = session;
  self_ = shared_from_this();
  session_->Join(this);
  Ask();
}

// Also ends it where the caller has given up.
void Asking::Ask() {
  if (session_ == nullptr) return;
  if (call_->settled()) return End(absl::OkStatus());
  question_(*session_, [self = self_](absl::Status answer) { self->OnAnswer(std::move(answer)); });
}

void Asking::OnAnswer(absl::Status answer) {
  if (session_ == nullptr) return;
  if (!absl::IsUnavailable(answer)) return End(std::move(answer));
  zk::Reactor& reactor = *core_->reactor();
  reactor.CallAt(reactor.Now() + base::Jittered(session::kRetryPause, reactor.Random()),
                 [weak = weak_from_this()] {
                   if (const auto self = weak.lock()) self->Ask();
                 });
}

void Asking::OnClosing() { End(absl::FailedPreconditionError("the client is closed")); }

void Asking::End(absl::Status answer) {
  const std::shared_ptr<Asking> alive = std::move(self_);
  if (session_ != nullptr) std::exchange(session_, nullptr)->Part(this);
  call_->Settle(std::move(answer));
}

}  // namespace zkrecipes::queue::acquire
