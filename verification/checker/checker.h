// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_CHECKER_H_
#define ZKRECIPES_VERIFICATION_CHECKER_CHECKER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "verification/checker/event.h"
#include "verification/checker/transaction_log.h"

namespace zkrecipes::history {

// The bounds that a run is measured against.
struct Limits {
  absl::Duration progress = absl::Seconds(30);  // after kQuiet every wait has ended
  // After a fault's end some contender is granted within: session timeout, 1.5 ticks, the
  // ensemble's election, 2 s.
  absl::Duration recovery = absl::Seconds(30);
  // The servers' wall clock less CLOCK_BOOTTIME, read one after the other during the run.
  absl::Duration wall_less_boot = absl::ZeroDuration();
  // The children of the paths under test, in full, listed after every client was closed or its
  // session had expired. nullopt: not listed, and the rule of orphans is not applied.
  std::optional<std::vector<std::string>> left = std::nullopt;

  bool operator==(const Limits&) const = default;
};

struct Violation {
  std::string rule = "";           // "believers": names it for all violations of the kind
  std::string what;                // a sentence that names processes, times and tokens
  int64_t at = 0;                  // CLOCK_BOOTTIME
  std::vector<Event> events = {};  // what it rests on
};

struct FaultFigures {
  std::string name = "";
  std::string target = "";
  int64_t begin = 0;
  int64_t end = 0;     // kMended, or the end of the history
  int64_t grants = 0;  // from its begin to the next fault after it, or to the end of the history
  absl::Duration longest_without_grant = absl::ZeroDuration();  // in that time
  std::optional<absl::Duration> first_grant = std::nullopt;     // after its end, in that time

  bool operator==(const FaultFigures&) const = default;
};

struct Figures {
  int64_t grants = 0;
  int64_t writes_accepted = 0;
  int64_t writes_refused = 0;
  int64_t losses = 0;
  int64_t transactions = 0;
  // Between two grants, before kQuiet.
  absl::Duration longest_without_grant = absl::ZeroDuration();
  std::vector<FaultFigures> faults = {};
};

struct Verdict {
  std::vector<Violation> violations = {};  // by time
  Figures figures = {};
};

// Judges a run by what its processes recorded, and by ZooKeeper's own log if there is one. Pure.
//
//   zookeeper_order   a granted node is in the log, and every lower one in its way was deleted
//                     there before the grant was heard of
//   believers         no conflicting grant is made while a lease promises that there is none
//   held_twice        a lease is not seen held after a later conflicting grant
//   held_after_lost   nor after its own ended()
//   token_order       of two conflicting grants the later has the larger token
//   token_twice       no two grants have one token, but a downgrade its writer's
//   fifo              of two conflicting nodes of one parent the lower was granted first (needs a
//                     log)
//   lock_delay        after a node that went without a release the next waits (needs a log)
//   stale_write       no write was accepted behind one with a larger token
//   progress          every wait of a process that lives ends
//   answers           a wait or a release that fails says why, and it is a reason
//   orphans           at rest no contender's node is left
//   recovery          service is back in time after a fault
//
// Times are what the processes recorded: a grant may be heard of late, so a rule is applied only
// where the records leave no other explanation. The death of a holder does not end its lease's
// promise. Only the lock's users may delete their nodes or end their sessions.
Verdict Check(std::vector<Event> events, const std::vector<Transaction>& transactions,
              const Limits& limits);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_CHECKER_H_
