// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/call/ask.h"

#include <utility>

#include "lib/queue/machine/observer.h"

namespace zkrecipes::queue::call {

std::shared_ptr<const Barrier> SendBarrier(session::Session& session) {
  const auto barrier = std::make_shared<Barrier>();
  session.Send(session.CommittedBarrier(),
               [barrier](const zk::Reply& reply) { barrier->code = reply.code; });
  return barrier;
}

absl::Status AskedStatus(zk::Code code, absl::string_view operation, absl::string_view path) {
  const absl::Status status = zk::ToStatus(code, operation, path);
  const bool again = machine::observing::GoesAwayByItself(code);
  return again ? absl::UnavailableError(status.message()) : status;
}

void ReadBehindBarrier(session::Session& session, const std::string& node,
                       absl::AnyInvocable<void(const std::optional<zk::Reply>&) &&> done) {
  session.Send(zk::Get{node}, [&session, node, barrier = SendBarrier(session),
                               done = std::move(done)](const zk::Reply& reply) mutable {
    const auto no_answer = [](zk::Code code) {
      return zk::OutcomeUnknown(code) || code == zk::Code::kThrottled;
    };
    const bool refused = !barrier->committed() && !no_answer(barrier->code);
    // A stranger was in the barrier's way, and the next one has another name.
    if (refused && session.connected()) return ReadBehindBarrier(session, node, std::move(done));
    const bool known = barrier->committed() && !no_answer(reply.code);
    std::move(done)(known ? std::optional(reply) : std::nullopt);
  });
}

}  // namespace zkrecipes::queue::call
