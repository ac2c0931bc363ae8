// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_SERVERS_H_
#define ZKRECIPES_INTEGRATION_SERVERS_SERVERS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "integration/servers/network.h"
#include "lib/base/unique_fd.h"
#include "testing/local/work_directory.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::servers {

// A file system in memory, which can be full. It is mounted nowhere: it is a descriptor's, so it
// goes with this process and those that have files of it open. Not thread-safe.
class Disk {
 public:
  // REQUIRES: root.
  static absl::StatusOr<Disk> Make();

  std::string path() const;  // for this process and others: "/proc/123/fd/7"

  // It has no room for more than it holds; it has room again. Idempotent.
  absl::Status Fill();
  absl::Status Free() { return Resize(kRoomy); }

 private:
  static constexpr char kRoomy[] = "1g";  // a limit: memory is taken as files are written

  explicit Disk(base::UniqueFd mount) : mount_(std::move(mount)) {}
  absl::Status Resize(const std::string& size);

  base::UniqueFd mount_;
};

// An ensemble of processes of this machine that things can be done to. Members are numbered from 0.
// Every call blocks until it is done; all of them can be repeated. Errors and threads: see
// LocalEnsemble; Internal for files that cannot be copied or removed.
class Servers {
 public:
  // All of them are where this process is.
  explicit Servers(std::unique_ptr<testing::LocalEnsemble> ensemble)
      : ensemble_(std::move(ensemble)) {}

  // Each member on a new host of the network, with a disk of its own for its log, which it syncs.
  // REQUIRES: `addresses` and `java` of the options are empty. Errors: of LocalEnsemble::Start and
  // of Network.
  static absl::StatusOr<std::unique_ptr<Servers>> Launch(
      Network& network, testing::LocalEnsembleOptions options = {});

  int size() const { return ensemble_->size(); }
  std::string list() const { return ensemble_->servers(); }  // as ClientOptions::servers takes
  std::string server(int i) const { return ensemble_->server(i); }  // "10.77.0.11:2181"
  Host host(int i) const;                                           // REQUIRES: the member runs

  // NotFound: no member leads, or (during a change of leader) more than one says it does.
  absl::StatusOr<int> Leader() { return ensemble_->Leader(); }

  absl::Status Stop(int i) { return ensemble_->Stop(i); }  // SIGTERM
  absl::Status Kill(int i) { return ensemble_->Kill(i); }  // SIGKILL
  absl::Status Wipe(int i);                                // SIGKILL, and its data is gone
  absl::Status Start(int i);  // one that is down; it may not have joined a quorum yet
  // SIGSTOP. FailedPrecondition, as of Resume: it is down.
  absl::Status Pause(int i) { return ensemble_->Pause(i); }
  absl::Status Resume(int i) { return ensemble_->Resume(i); }

  // The disk that a member logs its transactions on. REQUIRES: Launch has made it.
  absl::Status FillDisk(int i);  // it has no more room
  absl::Status FreeDisk(int i);  // it has room again; a member that ended stays down
  absl::Status SlowDisk(int i, absl::Duration each_sync);  // zero: no longer

  // Every member runs and serves. DeadlineExceeded if not within `timeout`.
  absl::Status WaitForAll(absl::Duration timeout) { return ensemble_->WaitForAll(timeout); }

  // Files of committed transactions ("log.100000001"), as far as members still have them: what the
  // ensemble itself says about the order of things. Copied under `directory`, a folder for each
  // member, beside its snapshots. REQUIRES: all serve.
  absl::StatusOr<std::vector<std::string>> TransactionLogs(const std::string& directory);

  testing::LocalEnsemble& ensemble() { return *ensemble_; }
  int QuorumPort(int i) const;  // where the followers of member i connect

 private:
  // A member's own host and disk on a network.
  struct Place {
    Host host;
    Disk disk;
  };

  explicit Servers(std::vector<Place> places) : places_(std::move(places)) {}
  absl::Status StartAll(testing::LocalEnsembleOptions options);
  std::string DirectoryOf(int i) const;
  std::string SnapshotsOf(int i) const;
  std::string LogsOf(int i) const;

  std::vector<Place> places_;                         // by member, or none
  std::optional<testing::WorkDirectory> own_;         // the members' Java
  std::unique_ptr<testing::LocalEnsemble> ensemble_;  // goes first
};

// Resumes the paused members, starts those that are down, waits until all serve and each commits a
// write. Does what a supervisor or an operator would: a member that does not serve within half of
// `timeout`, or commits nothing, is started again, twice at most. A leader that stood still
// together with its followers, and leads on when all go on, may be stuck for ever although all say
// that they serve (ZooKeeper 3.8; docs/track_record.md).
absl::Status Heal(Servers& servers, absl::Duration timeout);

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_SERVERS_H_
