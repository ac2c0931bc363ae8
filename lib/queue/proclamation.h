// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_PROCLAMATION_H_
#define ZKRECIPES_LIB_QUEUE_PROCLAMATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"

#include "lib/session/session.h"

namespace zkrecipes::queue {

// Writes a leader's new value to its node. Every write names the version that was read, and
// increments it. So a copy of a write that was delayed on an older connection is refused once any
// later write has succeeded. On the reactor.
class Proclamation : public std::enable_shared_from_this<Proclamation> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  // `node`: the server's path, of the contender that was created with `czxid`.
  Proclamation(std::string node, int64_t czxid, std::string value)
      : node_(std::move(node)), czxid_(czxid), value_(std::move(value)) {}

  // OK: the value is set. Aborted: the node is gone, or belongs to another session. Unavailable:
  // not known; try again, with this same object.
  void Try(session::Session& session, Done done);
  // The caller has its answer: nothing more is written, so that a later proclamation, which may have
  // been confirmed by then, stays. Thread-safe.
  void Abandon() { abandoned_ = true; }

 private:
  void OnNode(session::Session& session, const zk::Reply& reply, Done done);

  const std::string node_;
  const int64_t czxid_;
  const std::string value_;
  std::atomic<bool> abandoned_ = false;
  std::optional<int32_t> replaced_;  // the version that the last write, of unknown outcome, named
};

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_PROCLAMATION_H_
