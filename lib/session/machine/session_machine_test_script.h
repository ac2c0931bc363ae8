// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_TEST_SCRIPT_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_TEST_SCRIPT_H_

#include <string>

#include "lib/session/machine/session_machine.h"

namespace zkrecipes::session {

inline constexpr int kServers = 3;
inline constexpr int kThreeRounds = 3 * kServers;
inline constexpr zk::Code kExpired = zk::Code::kSessionExpired;
inline constexpr zk::Code kAuthFailed = zk::Code::kAuthFailed;

// For tests: a machine and what it did last, as text. The texts are in session_machine_story.cc.
struct Story {
  SessionMachine machine{kServers};

  std::string On(const Event& event);
  SessionMachine::State state() const { return machine.state(); }
};

// Stories that have come as far as that; their session is 7.
Story Fresh();
Story Resolving();
Story Connecting();
Story Pausing();
Story Connected();
Story Suspended();
Story Failed();
Story Closing(Story s);
Story Closed(Story s);

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_TEST_SCRIPT_H_
