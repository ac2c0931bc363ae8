// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_DERIVED_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_DERIVED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

// Quantities that follow from the facts. All functions are pure.

// The session timeout beside the servers' settings. nullopt: not known.
struct Timeouts {
  absl::Duration asked = {};
  std::optional<Grants> grants =
      {};  // the least of what servers grant: the one that counts (docs/lease.md)
  std::optional<absl::Duration> tick = {};
  // conf was not open: half of what a session of 1 ms is granted, which is two ticks unless
  // minSessionTimeout says otherwise.
  bool tick_is_inferred = false;
  bool twenty_ticks_agree = false;  // the longest session is ten times the shortest, as by default
  std::optional<int> sync_limit = {};  // in ticks
  bool alone = false;                  // one server that follows none has no syncLimit
  // How long a server that has fallen silent is still counted on: syncLimit ticks.
  std::optional<absl::Duration> silence = {};
};
Timeouts TimeoutsIn(const Facts& facts);

// The time left of a healthy lease with a session timeout of T, by the default LeaseOptions: right
// after a proof, and just before the next (docs/lease.md, "What is left of T").
struct LeaseLeft {
  absl::Duration most;
  absl::Duration least;
};
LeaseLeft LeaseLeftOf(absl::Duration session_timeout);

// "2.2s", "500ms", "1m0s": to a tenth where there are seconds.
std::string Short(absl::Duration duration);

// In how many days the path's sequence numbers are used up: at the rate between the oldest and the
// newest contender in the queue, if a minute or more lies between them, and otherwise at the mean
// since the path's node was made. nullopt: not known, or in ten years or more. Pure.
std::optional<std::int64_t> DaysLeft(const PathFacts& path, absl::Time now);

// Whether a session that owns a contender lives. A session may live although its process hangs.
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

// The state letter of ps in words: "runs", "is stopped", ...
const char* ProcessWord(char state);

// PATH's contenders: those that hold, and those that wait, each in the queue's order.
struct Queue {
  std::vector<ContenderInfo> holders = {};
  std::vector<ContenderInfo> waiters = {};
};
Queue QueueIn(const Facts& facts);

// The process of this machine that `owner` names; nullptr: it names none, or that process is gone.
const ThisMachine::Process* ProcessOf(const Facts& facts, const OwnerInfo& owner);

// The highest one of the servers that grant sessions.
std::optional<std::int64_t> HighestZxid(const Facts& facts);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_DERIVED_H_
