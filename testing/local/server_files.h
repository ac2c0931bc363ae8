// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_SERVER_FILES_H_
#define ZKRECIPES_TESTING_LOCAL_SERVER_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::testing {

inline constexpr char kLoopback[] = "127.0.0.1";

// One server's identity: where its files are and where it listens.
struct ServerSpec {
  int id = 0;                  // ZooKeeper's myid: 1, 2, ...
  std::string directory = "";  // absolute; holds zoo.cfg, data/ and server.log
  std::string address = kLoopback;
  int client_port = 0;
  int quorum_port = 0;
  int election_port = 0;

  std::string ConfigPath() const { return directory + "/zoo.cfg"; }
  std::string LogPath() const { return directory + "/server.log"; }
  std::string Address() const { return address + ":" + std::to_string(client_port); }
};

// "127.0.0.1:20001,127.0.0.1:20002"
std::string ServerList(const std::vector<ServerSpec>& specs);

// Where the files of server `id` go.
std::string ServerDirectory(const std::string& directory, int id);

// Ids 1 to `options.servers` in sub-directories of `directory`, on ports that are free now: nothing
// keeps another process from taking one before the server does.
absl::StatusOr<std::vector<ServerSpec>> NewServerSpecs(const LocalEnsembleOptions& options,
                                                       const std::string& directory);

// Makes the directories and writes zoo.cfg and myid for every server. Data that is there stays.
absl::Status WriteServerFiles(const LocalEnsembleOptions& options,
                              const std::vector<ServerSpec>& specs);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_SERVER_FILES_H_
