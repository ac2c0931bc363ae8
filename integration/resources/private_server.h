// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RESOURCES_PRIVATE_SERVER_H_
#define ZKRECIPES_INTEGRATION_RESOURCES_PRIVATE_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "testing/local/server_process.h"

namespace resources {

// A server's process and its temporary directory. Neither outlives this object or this process,
// however it ends: see Guard.
class PrivateServer {
 public:
  // An empty directory. `user`: who owns it, and whom what runs there runs as if this process is
  // root's, for servers that refuse root; "" is this process's own.
  static absl::StatusOr<std::unique_ptr<PrivateServer>> Make(const std::string& user = {});
  ~PrivateServer() { Kill(); }

  const std::string& directory() const { return directory_; }

  // Runs a program there and waits for its end. Internal: it failed; what it printed.
  absl::Status Run(const std::vector<std::string>& command);
  // Starts the server, and waits until it is up. Internal if it ends before, or is not up in a
  // minute: what it printed.
  absl::Status Start(const std::vector<std::string>& command, const std::function<bool()>& is_up);
  void Kill();           // as a crash
  void End(int signal);  // and waits, at most ten seconds

 private:
  PrivateServer(std::string directory, std::string user)
      : directory_(std::move(directory)), user_(std::move(user)) {}
  absl::StatusOr<pid_t> Spawn(const std::vector<std::string>& command);
  std::string Printed() const;

  const std::string directory_;
  const std::string user_;
  std::unique_ptr<zkrecipes::testing::Guard> guard_;
  zkrecipes::testing::ServerProcess process_;
};

}  // namespace resources

#endif  // ZKRECIPES_INTEGRATION_RESOURCES_PRIVATE_SERVER_H_
