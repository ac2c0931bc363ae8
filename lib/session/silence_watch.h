// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_SILENCE_WATCH_H_
#define ZKRECIPES_LIB_SESSION_SILENCE_WATCH_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/time/time.h"

#include "lib/session/machine/silence.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::session {

// Leaves a server that answers nothing, when Silence says so. On the reactor.
class SilenceWatch {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // When leases are lost without another answer; the past if none is at stake.
    virtual base::BootTime LostAt() = 0;
    // What is asked can be answered. The end of a session is asked for once it is suspended.
    virtual bool CanAnswer() const = 0;
    // A part of an answer has come since the last call.
    virtual bool TakeProgress() = 0;
    // REQUIRES: CanAnswer.
    virtual void LeaveServer() = 0;
  };

  // Both outlive it.
  SilenceWatch(zk::Reactor* reactor, Owner* owner) : reactor_(reactor), owner_(owner) {}

  // See Silence. `timeout`: the session's, as negotiated now.
  void Connected(base::BootTime began, absl::Duration timeout) {
    timeout_ = timeout;
    silence_.Connected(began);
  }
  void Asked(uint64_t number, base::BootTime sent);
  void Answered(uint64_t number, base::BootTime sent, bool committed);
  // Leases may be lost sooner than was known.
  void MoreAtStake();

 private:
  void Arm(base::BootTime at);
  void ArmIfSooner();
  void OnTimer(std::optional<base::BootTime> planned);
  void CallAt(base::BootTime at, std::optional<base::BootTime> planned);

  zk::Reactor* const reactor_;
  Owner* const owner_;
  machine::Silence silence_;
  absl::Duration timeout_;
  zk::Reactor::TimerId timer_ = 0;  // 0: none runs
  base::BootTime timer_at_;
  bool more_at_stake_ = false;  // than when it was set
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_SILENCE_WATCH_H_
