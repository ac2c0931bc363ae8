// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_SERVER_FILES_H_
#define ZKRECIPES_TESTING_LOCAL_SERVER_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::testing {

// `count` different TCP ports that nothing on this machine uses now, chosen at random so that two
// callers at once hardly ever choose the same. They lie below the range from which the kernel takes
// ports for outgoing connections: there a member that is down could find its port used by a client
// (one that tries to reconnect can even connect to itself) when it is started again.
// ResourceExhausted if there are not that many.
absl::StatusOr<std::vector<int>> FreePorts(int count);

// One server's identity: where its files are and where it listens.
struct ServerSpec {
  int id = 0;                  // ZooKeeper's myid: 1, 2, ...
  std::string directory = "";  // absolute; holds zoo.cfg, data/ and server.log
  std::string address = "127.0.0.1";
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

// Ids 1 to `options.servers` in subdirectories of `directory`, on ports that are free now. Another
// process may still take one before the server does.
absl::StatusOr<std::vector<ServerSpec>> NewServerSpecs(const LocalEnsembleOptions& options,
                                                       const std::string& directory);

// Makes the directories and writes zoo.cfg and myid for every server. Data that is there stays.
absl::Status WriteServerFiles(const LocalEnsembleOptions& options,
                              const std::vector<ServerSpec>& specs);

// ---- Logs ---------------------------------------------------------------------------------------

// The last `lines` lines of a log without Java's stack frames; empty if it cannot be read.
std::string TailOf(const std::string& path, int lines);

// Whether a server says in its log that it could not have one of its ports.
bool LogSaysPortTaken(const ServerSpec& spec);

// " Last lines of <path>:\n...", to end a message with; empty if there is no log.
std::string LogForMessage(const ServerSpec& spec);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_SERVER_FILES_H_
