// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_SESSION_REPORT_H_
#define ZKRECIPES_SESSION_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// Why there is no connection, by what happened at a server. For labels: the text of a report has
// the rest.
enum class NoConnection {
  kNameNotFound,  // its name is not resolved: misspelt, or the name servers do not answer
  kRefused,       // its host refused the connection: nothing listens there
  kUnreachable,   // no route, or another error of the network
  kSilent,        // no answer in time: a firewall that drops packets, or a server that hangs
  kHungUp,        // it closed the connection: no quorum, too many connections, wants TLS
  kNotZooKeeper,  // something else listens there
  kTls,           // only one side speaks TLS, or one does not accept the other's certificate
  kRejected,      // it refuses this client (credentials, Keeper) or its session (data were lost)
  kThisProcess,   // no attempt was made: no descriptor is left, or a file of TlsOptions is unusable
};

// The state of one of a client's sessions. For metrics and logs; see
// ClientOptions::on_session_report. Of an answer from the ensemble: about five reports per session
// timeout while the session is idle, ten at most. And of a connection that is missing: the first
// report comes after one session timeout without it, and then one per session timeout, until there
// is a connection or the client is closed. Of several sessions without one, it is about the one
// that has waited longest.
struct SessionReport {
  // The limit of a session for each of node_bytes and watch_bytes; beyond it the client opens
  // another session.
  static constexpr size_t kMostBytes = 512 * 1024;

  int index = 0;                // of the session in the client, 0 to 31: stays when it is replaced
  int64_t session = 0;          // its id
  absl::Duration timeout = {};  // as negotiated
  absl::Duration round_trip = {};  // of the request that was answered; 0: no connection
  // The least time that leases had left when their deadline was extended, since the last report.
  // None: it was not extended, or no lease needed it.
  std::optional<absl::Duration> least_left = std::nullopt;
  size_t node_bytes = 0;   // of paths, in contender nodes
  size_t watch_bytes = 0;  // ... and in watches

  // For how long there has been no connection; zero: there is one. Then also why: what each server
  // did, as messages of Unavailable say it, and each reason once.
  absl::Duration cut_off = {};
  std::string trouble = {};
  std::vector<NoConnection> causes = {};
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_SESSION_REPORT_H_
