// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_LIFE_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_LIFE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

// What is known of the life of a session that owns a contender. Pure. That a session lives says nothing of
// its process's work: a process that hangs may keep it.
struct Life {
  enum class State {
    kAlive,    // a server answered it within half of its timeout, which a client at rest undercuts
    kSilent,   // it is connected, but has not asked anything for so long
    kCutOff,   // it is connected to none of the servers, and all say so: it ends within its timeout
    kUnknown,  // not all servers are open to cons
    kNoSession,  // the node is not ephemeral
  };
  State state = State::kUnknown;
  std::optional<ConnectionFacts> connection = {};
  std::string server = {};  // of the connection
};
Life LifeOf(const Facts& facts, std::int64_t session);

// "alive", "silent", "cut-off", "unknown", "no-session".
const char* Word(Life::State state);

// The state of a process, as ps shows it: "stopped", "sleeping", ...
const char* ProcessWord(char state);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_LIFE_H_
