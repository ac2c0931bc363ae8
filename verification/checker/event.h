// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_EVENT_H_
#define ZKRECIPES_VERIFICATION_CHECKER_EVENT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace zkrecipes::history {

// One thing that happened, as the process saw it that it happened to: a line of its history. A
// process has several threads, so its lines are only roughly in the order of `at`.
//
// An attempt is kInvoke, then kFailed or kGrant; then any of kBelief, kWrite and kLost; then
// kRelease and kReleased. A process that is killed leaves out the rest.
//
// An upgrade or a downgrade is an attempt of its own, `from` that of the lease which it gives up:
//   upgrade    kInvoke, kGrant; then kRelease and kReleased of the one before, `at` the grant's.
//              Its token is its own node's czxid. If it fails the one before goes on.
//   downgrade  kRelease of the one before, kInvoke, kGrant, kReleased of the one before: inside the
//              call the writer's node goes, and others may read before this process knows. Its
//              token is the writer's, smaller than its own node's czxid; that node has the writer's
//              number in the queue. If it fails the one before is released in earnest.
struct Event {
  enum class What {
    kStart,     // a process; `detail`: its pid and its part
    kInvoke,    // it asks for a path; `detail`: how, and for how long
    kGrant,     // it has a lease
    kFailed,    // its wait ended without one; `detail`: the status
    kBelief,    // it looked at its lease: `state` and `until`
    kWrite,     // a write to the resource was answered: `accepted`, `order`
    kLost,      // ended() fired, or it looked before that; always before kRelease
    kRelease,   // it gives its lease up; `detail` "drop": by the destructor, without a kReleased
    kReleased,  // Release returned; `detail`: the status, or that another call did its work
    kSession,   // connected, suspended, expired: `detail`
    kEnd,       // of the process, by its own will; `detail`: the status of the client's Close
    kKilled,    // of the process, told by the process that killed it
    kPaused,    // likewise; between this and kResumed it did not run
    kResumed,
    kFault,   // a fault begins; `detail`: its target, if that is known. `who` is its name
    kMended,  // it has ended; `detail`: its target
    kQuiet,   // no more faults; all must come to rest now
  };
  enum class Mode { kExclusive, kShared };

  // Nanoseconds of CLOCK_BOOTTIME. Of what is done (kInvoke, kRelease, kResumed): before it. Of
  // what is learnt (all others): after.
  int64_t at = 0;
  std::string who = {};  // "w3", for all processes that had this part one after the other
  What what = What::kStart;

  // From kInvoke to kReleased:
  std::string path = {};  // of the lock, or of the election
  Mode mode = Mode::kExclusive;
  int64_t attempt = 0;     // counts the process's kInvokes: what belongs together
  int64_t from = 0;        // of an upgrade or a downgrade: the attempt whose lease it goes on from
  int64_t lock_delay = 0;  // nanoseconds: LockOptions::lock_delay, of every attempt for the path

  // From kGrant to kReleased:
  int64_t token = 0;
  std::string node = {};  // the full path of its own node
  int64_t session = 0;    // 0 if it was changing at that moment

  // Of kGrant and kBelief: the lease said that nobody else can be granted before; 0 if it promised
  // nothing. Never later than what it said.
  int64_t until = 0;
  std::string state = {};  // "held", "suspect", "lost", ...

  bool accepted = false;  // kWrite
  int64_t order = 0;      // kWrite: counts what the resource was asked, so it orders all writes

  std::string detail = {};

  bool operator==(const Event&) const = default;
};

// A line of JSON without the line break; what has its default value is left out.
std::string ToLine(const Event& event);
// InvalidArgument, with what is wrong, for a line that ToLine cannot have written.
absl::StatusOr<Event> FromLine(const std::string& line);

const char* ToString(Event::What what);  // "grant"

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_EVENT_H_
