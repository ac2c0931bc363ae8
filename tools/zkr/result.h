// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_RESULT_H_
#define ZKRECIPES_TOOLS_ZKR_RESULT_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "tools/zkr/supervisor/supervisor.h"

namespace zkrecipes::zkr {

// Exit statuses that scripts rely on, besides CMD's own. The numbers are those of sysexits.h and of
// the shell.
enum ExitCode {
  kDone = 0,
  kNo = 1,  // of a question: it does not hold, there is no such contender
  kUsage = 64,
  kUnavailable = 69,  // no ensemble reachable, session refused
  kLost = 70,
  kInternal = 71,  // output could not be written
  kExhausted =
      73,  // the path's sequence numbers are used up, or this machine's threads or descriptors
  kNotAcquired = 75,
  kDenied = 77,
  kCannotRun = 126,
  kNotFound = 127,
  kSignalBase = 128,  // 128 + n: ended by signal n
};

// Why a wait for a lock failed. `over`: it was at its limit, also if it had no connection then
// (DeadlineExceeded). Before, it was given up for want of a proof (lock.h): Unavailable.
absl::Status EndOfWait(const absl::Status& why, bool over);

// The exit status for a failed call of the library: kUsage if another call with the same arguments
// would fail in the same way, kNotAcquired for a wait that ended, kDenied, kExhausted, or else
// kUnavailable.
ExitCode ExitCodeFor(const absl::Status& status);

// "zkr: ..." to stderr, or one object a line (LogJson) after LogAsJson, for the whole process.
void LogAsJson();
void Complain(const std::string& message);
void Complain(const absl::Status& status);

// To stdout. 0, or errno if it cannot be written; a pipe that nothing reads is an error like any
// other (EPIPE). ECANCELED: a stop was requested while a reader that is there did not read.
int Write(const std::string& text, const std::stop_token& cancel = {});
// Complains of that; kInternal.
int CannotPrint(int error);
// Writes, or complains. False: it cannot be written, which has been told; the exit status is
// kInternal.
bool Print(const std::string& text);

// Complains, and returns the exit status of a command that waits for nothing but the network.
int Refuse(const absl::Status& status);

// How a command that runs CMD ended. CMD may exit with any number, so the word tells whose the
// status is:
//   ran           CMD's own; 128 + n if signal n ended it
//   not_acquired  zkr's: the wait for the lock ended, at its limit or by a signal
//   lost          zkr's: the lock was lost while CMD ran
//   unavailable   zkr's: no ensemble
//   denied        zkr's: the path's ACL forbids it
//   usage         zkr's: bad arguments, also a CMD that cannot be run
struct Result {
  const char* word = "unavailable";
  int status = kUnavailable;
  std::int64_t token = 0;  // 0: the lock was not acquired
};

// The result of a CMD that was started while `token` was held.
Result ResultOf(const supervisor::Outcome& outcome, std::int64_t token);

// The result of a call that failed before CMD was started. `conflict_status`: for a lock not
// acquired.
Result ResultOf(const absl::Status& error, int conflict_status);

// {"result": "ran", "status": 0, "token": 4294967302}, and a newline. The token is null if there is
// none. False if it cannot be written.
bool WriteResult(int fd, const Result& result);

// The N of a --status-fd N among a command line's words, -1 if there is none: for a command line
// that is not otherwise understood.
int FindStatusFd(const std::vector<std::string>& words);

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_RESULT_H_
