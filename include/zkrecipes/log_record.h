// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LOG_RECORD_H_
#define ZKRECIPES_LOG_RECORD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The records of a LogListener (log_listener.h), and how to write them. Needs only the standard
// library: a logger's own code may include this without absl.

enum class LogLevel { kDebug, kInfo, kWarning, kError };
std::string ToString(LogLevel level);  // "debug", "info", "warning", "error"

// One for each call of EventListener, and three about the client.
enum class LogEvent {
  kQueued,      // debug
  kGranted,     // info
  kReleased,    // info
  kProven,      // info
  kNotGranted,  // info if the acquire gave up, found the lock busy or was cancelled; else warning
  kPlaceLost,   // warning
  kSuspect,     // warning
  kLost,        // error
  kOpenParent,  // warning
  kSession,     // info: the client has opened a session
  kClient,      // the client's state: info, kSuspended a warning, kExpired an error
  // error: no connection for a session timeout, or no session since the beginning; once more after
  // each further session timeout
  kNoConnection,
  // Of a member of Partitions: debug; info once all that it should own is owned, and if the members
  // have changed; a warning if one of its own is lost before its work has ended, or members have
  // another list. Each lease has its own kLost, too.
  kPartitions,
  kTurns,  // debug: of a CachedLock, turns that asked no server
};
std::string ToString(LogEvent event);  // "queued", "granted", ..., "place_lost", "turns"

// A field that is not known, or means nothing for the event, is empty or 0. Texts live as long as
// the sink's call.
struct LogRecord {
  LogEvent event = LogEvent::kQueued;
  LogLevel level = LogLevel::kInfo;
  std::chrono::system_clock::time_point time = {};  // of the event
  std::string_view path = {};                       // the recipe's
  // The fencing token: the zxid of the transaction that made the lease's node, by which the
  // servers' logs name it. (After a Downgrade, that of the earlier lease's node.)
  int64_t token = 0;
  std::string_view node = {};  // the lease's; kQueued: the predecessor's
  int64_t session = 0;         // the session's id: kGranted, kSession, kNoConnection
  int waits_for = 0;           // kQueued: how many nodes; kPartitions: how many partitions
  int64_t turns = 0;           // kTurns: how many, since the record before
  // kGranted, kNotGranted: since the acquire began. kReleased: since the grant.
  // kSession: the negotiated timeout. kNoConnection: without a connection.
  std::chrono::nanoseconds lasted = {};
  // kLost, kNotGranted: why. kClient: the state. kNoConnection: what each server did. kPartitions:
  // what the member owns, and what others there are.
  std::string_view reason = {};
};

// Where records go. Called in order, one at a time, on LogOptions::executor.
using LogSink = std::function<void(const LogRecord&)>;

// Without an end of line; each is one line, whatever is in the texts.
//   lost /locks/a token=4294967302 node=... reason="..."
std::string ToText(const LogRecord& record);
//   {"time":"2026-11-24T03:00:00.123+00:00","level":"error","event":"lost","path":"/locks/a",...}
// Fields that are empty or 0 are left out; `session` is as the servers write it, "0x1000...", and
// `lasted` is in seconds.
std::string ToJson(const LogRecord& record);

enum class LogFormat { kText, kJson };
// Writes each record as one line, with the time and the level. Blocks while stderr does.
LogSink LogToStderr(LogFormat format = LogFormat::kText);

}  // namespace zkrecipes

#endif  // ZKRECIPES_LOG_RECORD_H_
