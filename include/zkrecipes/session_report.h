// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_SESSION_REPORT_H_
#define ZKRECIPES_SESSION_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// How one of a client's sessions is, as of an answer from its ensemble: some five reports in a session
// timeout while nothing is asked for, ten at most. For metrics; see ClientOptions::on_session_report.
struct SessionReport {
  // What a session may have of each: beyond that the client opens another one.
  static constexpr size_t kMostBytes = 512 * 1024;

  int index = 0;        // which of the client's sessions, from 0 to 31: stays when it is replaced
  int64_t session = 0;  // its id
  absl::Duration timeout = {};     // as negotiated
  absl::Duration round_trip = {};  // of the request that was answered
  // The least that was left of the deadline that leases rest on, when it was extended since the last
  // report. None: nothing was extended, or no lease needed it.
  std::optional<absl::Duration> least_left = std::nullopt;
  size_t node_bytes = 0;   // of paths, in contender nodes
  size_t watch_bytes = 0;  // ... and in watches
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_SESSION_REPORT_H_
