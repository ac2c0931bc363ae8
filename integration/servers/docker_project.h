// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_DOCKER_PROJECT_H_
#define ZKRECIPES_INTEGRATION_SERVERS_DOCKER_PROJECT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "lib/base/unique_fd.h"
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

}  // namespace zkrecipes::servers

#endif  // ZKRECIPES_INTEGRATION_SERVERS_DOCKER_PROJECT_H_
