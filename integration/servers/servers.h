// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_SERVERS_H_
#define ZKRECIPES_INTEGRATION_SERVERS_SERVERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "integration/servers/command.h"

namespace zkrecipes::servers {

// A real ensemble that things can be done to: processes of this machine, or containers. Members are
// numbered from 0. Every call blocks until it is done; all of them can be repeated.
class Servers {
 public:
  virtual ~Servers() = default;

  virtual int size() const = 0;
  virtual std::string list() const = 0;         // what ClientOptions::servers takes
  virtual std::string server(int i) const = 0;  // "10.77.0.11:2181"
  virtual Host host(int i) const = 0;           // REQUIRES: the member runs

  // NotFound: no member leads, or (during a change of leader) more than one says it does.
  virtual absl::StatusOr<int> Leader() = 0;

  virtual absl::Status Stop(int i) = 0;   // SIGTERM
  virtual absl::Status Kill(int i) = 0;   // SIGKILL
  virtual absl::Status Wipe(int i) = 0;   // SIGKILL, and its data is gone
  virtual absl::Status Start(int i) = 0;  // one that is down; it may not have joined a quorum yet
  // SIGSTOP, or the container's freezer. FailedPrecondition, as of Resume: it is down.
  virtual absl::Status Pause(int i) = 0;
  virtual absl::Status Resume(int i) = 0;

  // The disk that a member logs its transactions on. Unimplemented where it has none of its own
  // that is ours to spoil: in containers, say.
  virtual absl::Status FillDisk(int i);  // it has no more room
  virtual absl::Status FreeDisk(int i);  // it has room again; a member that ended stays down
  virtual absl::Status SlowDisk(int i, absl::Duration each_sync);  // zero: no longer

  // Every member runs and serves. DeadlineExceeded if not within `timeout`.
  virtual absl::Status WaitForAll(absl::Duration timeout) = 0;

  // Files of committed transactions ("log.100000001"), as far as members still have them: what the
  // ensemble itself says about the order of things. Copied under `directory`, a folder for each
  // member, beside its snapshots. REQUIRES: all serve.
  virtual absl::StatusOr<std::vector<std::string>> TransactionLogs(
      const std::string& directory) = 0;
};

// Resumes the paused members, starts those that are down, waits until all serve and each commits a
// write. Does what a supervisor or an operator would: a member that does not serve within half of
// `timeout`, or commits nothing, is started again, twice at most. A leader that stood still
// together with its followers, and leads on when all go on, may be stuck for ever although all say
// that they serve (ZooKeeper 3.8; docs/track_record.md).
absl::Status Heal(Servers& servers, absl::Duration timeout);

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_SERVERS_H_
