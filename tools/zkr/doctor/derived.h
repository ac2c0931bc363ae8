// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_DERIVED_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_DERIVED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "tools/zkr/doctor/facts.h"
#include "zkrecipes/lease_options.h"

namespace zkrecipes::zkr::doctor {

inline constexpr char kCertain[] = "certain";
// What was seen also has a harmless cause, which the finding names.
inline constexpr char kLikely[] = "likely";

// One thing that needs an operator. Texts that others have written are made printable, and bounded,
// before they get in here; those of the command line are shown as they are.
struct Finding {
  const char* sure = kCertain;
  std::string what = {};   // a word for programs: "server-unreachable"
  std::string about = {};  // the server, path or node
  std::string seen = {};   // a sentence, without its end
  std::string todo = {};   // never to delete data
};
using Findings = std::vector<Finding>;

// Quantities that follow from the facts. All functions are pure.

// The session timeout beside the servers' settings. nullopt: not known.
struct Timeouts {
  // The least that a server grants, which is the one that counts (docs/lease.md).
  std::optional<absl::Duration> granted = {};
  std::optional<absl::Duration> tick = {};
  std::optional<int> sync_limit = {};  // in ticks
  bool alone = false;                  // one server that follows none has no syncLimit
  // How long a server that has fallen silent is still counted on: syncLimit ticks.
  std::optional<absl::Duration> silence = {};
};
Timeouts TimeoutsIn(const Facts& facts);

// The time left of a healthy lease with a session timeout of T, by the default LeaseOptions and a
// pace: right after a proof, and just before the next (docs/lease.md, "What is left of T"). And the
// writes a second that it takes, of a session that holds. Zeros where no lease can be proven.
struct LeaseLeft {
  absl::Duration most;
  absl::Duration least;
  double writes = 0;
};
LeaseLeft LeaseLeftOf(absl::Duration session_timeout,
                      LeaseOptions::Pace pace = LeaseOptions::Pace::kSteady);

// "2.2s", "500ms", "1m0s": to a tenth where there are seconds.
std::string Short(absl::Duration duration);

// Whether a session that owns a contender lives. A session may live although its process hangs.
struct Life {
  enum class State {
    kAlive,    // a server answered it within half of its timeout, which a client at rest undercuts
    kSilent,   // it is connected, but has not asked anything for so long
    kCutOff,   // it is connected to none of the servers, and all say so: it ends within its timeout
    kUnknown,  // not all servers are open to cons, or the node may not be read
    kNoSession,  // the node is not ephemeral
  };
  State state = State::kUnknown;
  std::optional<ConnectionFacts> connection = {};
  std::string server = {};  // of the connection
};
Life LifeOf(const Facts& facts, const ContenderInfo& contender);

// PATH's contenders: those that hold, and those that wait, each in the queue's order. Without a
// group's members, and without those of which that is unknown.
struct Queue {
  std::vector<ContenderInfo> holders = {};
  std::vector<ContenderInfo> waiters = {};
};
Queue QueueIn(const Facts& facts);

// The number of permits that the path's data name, if its queue is a semaphore's.
std::optional<int> PermitsOf(const Facts& facts);

// Whether `zkr break` takes its token: it is known, and no other contender's.
bool CanBeBroken(const Facts& facts, const ContenderInfo& contender);

// Whether `owner` names this machine as its host.
bool IsHere(const Facts& facts, const OwnerInfo& owner);

// The processes of this machine that `owner` names, and, if that is a zkr, its CMD's. nullptr: none
// is named, or seen.
struct Processes {
  const supervisor::ProcessInfo* owner = nullptr;
  const supervisor::ProcessInfo* command = nullptr;
};
Processes ProcessesOf(const Facts& facts, const OwnerInfo& owner);
bool IsStopped(const supervisor::ProcessInfo* process);  // nullptr: no

// Words for people and programs: "cut-off"; "is stopped", as ps shows the process.
const char* Word(Life::State state);
const char* Word(const supervisor::ProcessInfo& process);

// The highest one of the servers that grant sessions.
std::optional<std::int64_t> HighestZxid(const Facts& facts);

// Whether the ensemble is behind what --seen names; false only if its epoch was raised since. An
// ensemble that was set back comes as far again after a while: then nullopt, and without --seen.
std::optional<bool> WasSetBack(const Facts& facts);

// ---- judging and telling ------------------------------------------------------------------------

// Each judges one path. Pure.
void JudgeQueue(const Facts& facts, const PathFacts& path, Findings& found);
void JudgeHolders(const Facts& facts, const PathFacts& path, Findings& found);  // a part of it
void JudgePartitions(const Facts& facts, const PathFacts& path, Findings& found);
void JudgeAcls(const Facts& facts, const PathFacts& path, Findings& found);

// All findings about servers, timeouts, epoch, sessions and paths. Pure.
Findings Diagnose(const Facts& facts);

// What an operator does about a record of the epoch that is not to be trusted.
inline constexpr char kMakeEpoch[] =
    "zkr epoch --make --above N, N being the highest epoch that any resource has seen";

// "a, b, c and 2 more": at most five of them, made printable.
std::string NameSome(const std::vector<std::string>& names);

// The facts, then the findings. Whatever is not known is shown as "unknown". Lines have at most 100
// characters, except for the table of servers where names are long.
std::string ReportText(const Facts& facts, const Findings& findings);

// As zkr.schema.json says.
std::string ReportJson(const Facts& facts, const Findings& findings);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_DERIVED_H_
