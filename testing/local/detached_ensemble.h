// SPDX-License-Identifier: Apache-2.0
//
// An ensemble of daemons that outlives the program that started it, for `zkr ensemble`. Everything
// about it is in one directory. Calls from several processes for one directory wait for each other.

#ifndef ZKRECIPES_TESTING_LOCAL_DETACHED_ENSEMBLE_H_
#define ZKRECIPES_TESTING_LOCAL_DETACHED_ENSEMBLE_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace zkrecipes::testing {

using Progress = std::function<void(const std::string& line)>;

struct DetachedMember {
  std::string server;  // "127.0.0.1:20001"
  int port = 0;
  pid_t pid = 0;     // 0 if it does not run
  std::string mode;  // "leader", "follower", "standalone", "not serving", "no answer", "down"
};

struct DetachedStatus {
  std::string servers;  // "127.0.0.1:20001,127.0.0.1:20002,127.0.0.1:20003"
  bool has_quorum = false;
  std::vector<DetachedMember> members;
};

struct DetachedWishes {
  std::optional<int> servers;     // otherwise three
  std::optional<int> first_port;  // as in LocalEnsembleOptions
};

// Errors: PermissionDenied if the directory is another user's (which LookAtDetached does not mind);
// Internal; and what is listed.

// Starts the servers, or those of an ensemble that is there already which do not run, on the ports
// and the data that they had. Blocks until all serve, up to a minute. Returns the list of servers.
// After an error the servers that this call has newly made are gone; a partial ensemble that it
// could not complete is left as it is.
//   InvalidArgument     a wish is out of range, or not what the ensemble that is there has; or the
//                       directory has no name
//   FailedPrecondition  no Java or no ZooKeeper server here; or the directory holds other things
//   Unavailable, DeadlineExceeded   as for LocalEnsemble::Start, and if a wished port is taken
absl::StatusOr<std::string> StartDetached(const std::string& directory,
                                          const DetachedWishes& wishes, const Progress& progress);

//   NotFound  no ensemble there
absl::StatusOr<DetachedStatus> LookAtDetached(const std::string& directory);

// Ends the servers (SIGTERM, then SIGKILL after ten seconds) and removes what StartDetached has
// written. Returns how many ran.
//   NotFound  no ensemble there
absl::StatusOr<int> StopDetached(const std::string& directory);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_DETACHED_ENSEMBLE_H_
