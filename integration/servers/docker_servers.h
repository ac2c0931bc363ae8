// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_DOCKER_SERVERS_H_
#define ZKRECIPES_INTEGRATION_SERVERS_DOCKER_SERVERS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"

#include "integration/servers/servers.h"
#include "lib/base/process.h"
#include "lib/base/unique_fd.h"
#include "testing/local/quorum.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::servers {

// The containers, volumes and network of docker/docker-compose.yml under a name, a network and
// ports of their own. A process in a session of its own (docker/ensemble.sh) removes them all when
// this object goes, or this process ends, however it ends, or at the end of `max_lifetime`.
class DockerProject {
 public:
  // Blocks only until that process runs. Internal if it cannot.
  static absl::StatusOr<std::unique_ptr<DockerProject>> Launch(
      const testing::LocalEnsembleOptions& options);

  // Blocks until all is removed: some two seconds.
  ~DockerProject();
  DockerProject(const DockerProject&) = delete;
  DockerProject& operator=(const DockerProject&) = delete;

  bool Ended() const;  // by itself: it could not start
  bool PortOrNetworkTaken() const;
  std::string LogTail() const;

  const std::string& name() const { return name_; }
  int port(int i) const { return ports_[i]; }              // of 127.0.0.1
  const std::string& network() const { return network_; }  // "10.78.0": its first three bytes

 private:
  explicit DockerProject(std::vector<int> ports);
  std::vector<std::string> Command(const testing::LocalEnsembleOptions& options) const;
  std::string LogPath() const;

  const base::UniqueFd log_;  // a file without a name: nothing is left of it
  const std::string name_;
  const std::vector<int> ports_;
  const std::string network_;
  base::UniqueFd lifeline_;
};

// Three servers in containers, on a bridge of docker's: docker/docker-compose.yml. A member that is
// down has no network either: a request to its published port is refused, one to its address gets
// no answer.
//
// Not thread-safe. Calls take some tenths of a second, since each runs docker's command.
//
// Errors of every method: Internal when docker refuses; the message has its command and what it
// printed. FailedPrecondition for Pause and Resume of a member that is down.
class DockerServers : public Servers {
 public:
  enum class Reach {
    kPublishedPorts,  // list() and server() are ports of 127.0.0.1
    kBridge,          // ... are the containers' own addresses, for hosts on the bridge
  };
  // The arguments of Network::Join.
  struct Bridge {
    std::string name;           // of the interface
    std::string first_address;  // this one and those that follow are free
    int prefix;
  };

  // Starts them and blocks until all serve, at most `start_timeout`. REQUIRES: three servers; of
  // the options `directory`, `keep_directory`, `java` and what places members elsewhere mean
  // nothing.
  //   FailedPrecondition  no docker here, no daemon that answers, or no image
  //   DeadlineExceeded    not all serve after `start_timeout`
  //   Unavailable         docker could not start them; the message ends with what it printed
  static absl::StatusOr<std::unique_ptr<DockerServers>> Start(
      const testing::LocalEnsembleOptions& options = {}, Reach reach = Reach::kPublishedPorts);
  ~DockerServers() override;

  int size() const override { return static_cast<int>(servers_.size()); }
  std::string list() const override { return absl::StrJoin(servers_, ","); }
  std::string server(int i) const override { return servers_[i]; }
  Host host(int i) const override;

  absl::StatusOr<int> Leader() override { return testing::AskModes(servers_).Leader(); }

  absl::Status Stop(int i) override { return Run({"docker", "stop", "--time=10", containers_[i]}); }
  absl::Status Kill(int i) override;
  absl::Status Wipe(int i) override;
  absl::Status Start(int i) override;
  absl::Status Pause(int i) override { return Change(i, "running", "pause", "paused"); }
  absl::Status Resume(int i) override { return Change(i, "paused", "unpause", "running"); }

  absl::Status WaitForAll(absl::Duration timeout) override;

  absl::StatusOr<std::vector<std::string>> TransactionLogs(const std::string& directory) override;

  const Bridge& bridge() const { return bridge_; }
  const std::string& project() const { return project_->name(); }  // compose's

 private:
  DockerServers(std::unique_ptr<DockerProject> project, absl::Duration start_timeout, Reach reach);

  absl::Status WaitForStart();
  absl::Status FindContainers();
  absl::StatusOr<std::string> StateOf(int i) const;  // docker's: "running", "paused", "exited"
  absl::Status WaitForAnswer(int i) const;
  absl::Status Change(int i, const char* from, const char* verb, const char* to);

  const base::HomeProcess home_;
  std::unique_ptr<DockerProject> project_;
  const absl::Duration start_timeout_;
  std::vector<std::string> servers_;
  std::vector<std::string> containers_;  // by member: docker's id
  Bridge bridge_;
};

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_DOCKER_SERVERS_H_
