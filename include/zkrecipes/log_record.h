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

// What LogListener (log_listener.h) tells of, and how to write it. Needs std alone: a logger's own code may
// include this without absl.

enum class LogLevel { kDebug, kInfo, kWarning, kError };
std::string ToString(LogLevel level);  // "debug", "info", "warning", "error"

// One for each call of EventListener, and two about the client.
enum class LogEvent {
  kQueued,       // debug
  kGranted,      // info
  kReleased,     // info
  kProven,       // info
  kNotGranted,   // info if the acquire gave up, found the lock busy or was cancelled; else warning
  kPlaceLost,    // warning
  kSuspect,      // warning
  kHeldTooLong,  // warning
  kLost,         // error
  kOpenParent,   // warning
  kSession,      // info: the client has opened a session
  kClient,       // the client's state: info, kSuspended a warning, kExpired an error
};
std::string ToString(LogEvent event);  // "queued", "granted", ..., "place_lost", "client"

// What is not known, or means nothing for the event, is empty or 0. Texts live as long as the sink's call.
struct LogRecord {
  LogEvent event = LogEvent::kQueued;
  LogLevel level = LogLevel::kInfo;
  std::chrono::system_clock::time_point time = {};  // when it is told
  std::string_view path = {};                       // the recipe's
  // The fencing token: the zxid of the transaction that made the lease's node, under which the servers' logs
  // have it. (After a Downgrade, of the node of the lease before.)
  int64_t token = 0;
  std::string_view node = {};  // the lease's; kQueued: the next in front
  int64_t session = 0;  // the session's id: of kGranted, which has the token, too, and kSession
  int waits_for = 0;    // kQueued: so many nodes
  // kGranted, kNotGranted: since the acquire began. kReleased, kHeldTooLong: since the grant. kSession: the
  // negotiated timeout.
  std::chrono::nanoseconds lasted = {};
  std::string_view reason = {};  // kLost, kNotGranted: why; kClient: the state
  // Records of this event that were left out since the last one that was written.
  int64_t dropped = 0;
};

// Where records go. Called in order, one at a time, on LogOptions::executor.
using LogSink = std::function<void(const LogRecord&)>;

// Without an end of line; each is one line, whatever is in the texts.
//   lost /locks/a token=4294967302 node=... reason="..."
std::string ToText(const LogRecord& record);
//   {"time":"2026-11-24T03:00:00.123+00:00","level":"error","event":"lost","path":"/locks/a","token":4294967302,...}
// What is empty or 0 is left out; `session` is as the servers write it, "0x1000...", and `lasted` in seconds.
std::string ToJson(const LogRecord& record);

enum class LogFormat { kText, kJson };
// Writes each record as one line, with the time and the level. Blocks while stderr does.
LogSink LogToStderr(LogFormat format = LogFormat::kText);

}  // namespace zkrecipes

#endif  // ZKRECIPES_LOG_RECORD_H_
