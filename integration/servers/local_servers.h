// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_LOCAL_SERVERS_H_
#define ZKRECIPES_INTEGRATION_SERVERS_LOCAL_SERVERS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "integration/servers/network.h"
#include "integration/servers/servers.h"
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

// Servers that are processes of this machine. Errors and threads: see LocalEnsemble; Internal for
// files that cannot be copied or removed.
class LocalServers : public Servers {
 public:
  // All of them are where this process is.
  explicit LocalServers(std::unique_ptr<testing::LocalEnsemble> ensemble)
      : ensemble_(std::move(ensemble)) {}

  // Each member on a new host of the network, with a disk of its own for its log, which it syncs.
  // REQUIRES: `addresses` and `java` of the options are empty. Errors: of LocalEnsemble::Start and
  // of Network.
  static absl::StatusOr<std::unique_ptr<LocalServers>> Launch(
      Network& network, testing::LocalEnsembleOptions options = {});

  int size() const override { return ensemble_->size(); }
  std::string list() const override { return ensemble_->servers(); }
  std::string server(int i) const override { return ensemble_->server(i); }
  Host host(int i) const override;

  absl::StatusOr<int> Leader() override { return ensemble_->Leader(); }

  absl::Status Stop(int i) override { return ensemble_->Stop(i); }
  absl::Status Kill(int i) override { return ensemble_->Kill(i); }
  absl::Status Wipe(int i) override;
  absl::Status Start(int i) override;
  absl::Status Pause(int i) override { return ensemble_->Pause(i); }
  absl::Status Resume(int i) override { return ensemble_->Resume(i); }

  absl::Status FillDisk(int i) override;
  absl::Status FreeDisk(int i) override;
  absl::Status SlowDisk(int i, absl::Duration each_sync) override;

  absl::Status WaitForAll(absl::Duration timeout) override {
    return ensemble_->WaitForAll(timeout);
  }

  absl::StatusOr<std::vector<std::string>> TransactionLogs(const std::string& directory) override;

  testing::LocalEnsemble& ensemble() { return *ensemble_; }
  int QuorumPort(int i) const;  // where the followers of member i connect

 private:
  // A member's own host and disk on a network.
  struct Place {
    Host host;
    Disk disk;
  };

  explicit LocalServers(std::vector<Place> places) : places_(std::move(places)) {}
  absl::Status StartAll(testing::LocalEnsembleOptions options);
  std::string DirectoryOf(int i) const;
  std::string SnapshotsOf(int i) const;
  std::string LogsOf(int i) const;

  std::vector<Place> places_;                         // by member, or none
  std::optional<testing::WorkDirectory> own_;         // the members' Java
  std::unique_ptr<testing::LocalEnsemble> ensemble_;  // goes first
};

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_LOCAL_SERVERS_H_
