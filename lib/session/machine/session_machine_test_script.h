// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_TEST_SCRIPT_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_TEST_SCRIPT_H_

#include <string>
#include <vector>

#include "lib/session/machine/session_machine.h"

namespace zkrecipes::session::machine {

inline constexpr int kServers = 3;
inline constexpr int kRound = kServers;
inline constexpr zk::Code kExpired = zk::Code::kSessionExpired;
inline constexpr zk::Code kAuthFailed = zk::Code::kAuthFailed;

// For tests: a machine, and as text what it does at each event: "close handle, expired | pause".
// The texts are in session_machine_test_script.cc.
struct SessionScript {
  SessionMachine machine{kServers};

  std::string On(const std::vector<Event>& events);
  SessionMachine::State state() const { return machine.state(); }
};

SessionScript After(SessionScript s, const std::vector<Event>& events);

// Stories that have come as far as that; their session is 7.
SessionScript Fresh();
SessionScript Resolving();
SessionScript Connecting();
SessionScript Pausing();
SessionScript Connected();
SessionScript Suspended();
SessionScript Failed();
SessionScript Closing(SessionScript s);
SessionScript Closed(SessionScript s);

}  // namespace zkrecipes::session::machine

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_TEST_SCRIPT_H_
