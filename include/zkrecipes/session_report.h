// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_SESSION_REPORT_H_
#define ZKRECIPES_SESSION_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The state of one of a client's sessions, as of an answer from its ensemble. There are about five
// reports per session timeout while the session is idle, ten at most. For metrics; see
// ClientOptions::on_session_report.
struct SessionReport {
  // The limit of a session for each of node_bytes and watch_bytes; beyond it the client opens
  // another session.
  static constexpr size_t kMostBytes = 512 * 1024;

  int index = 0;                // of the session in the client, 0 to 31: stays when it is replaced
  int64_t session = 0;          // its id
  absl::Duration timeout = {};  // as negotiated
  absl::Duration round_trip = {};  // of the request that was answered
  // The least time that leases had left when their deadline was extended, since the last report.
  // None: it was not extended, or no lease needed it.
  std::optional<absl::Duration> least_left = std::nullopt;
  size_t node_bytes = 0;   // of paths, in contender nodes
  size_t watch_bytes = 0;  // ... and in watches
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_SESSION_REPORT_H_
