// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_PARTITIONS_SERVICE_H_
#define ZKRECIPES_VERIFICATION_PARTITIONS_SERVICE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

#include "testing/local/server_process.h"

namespace zkrecipes::verification {

// The processes of a service's members, each under its name, which also names the file in `logs`
// with what it tells.
class Service {
 public:
  // `program`: of a member, to which its name and `arguments` are appended.
  Service(std::vector<std::string> program, std::vector<std::string> arguments, std::string logs);

  // Of a name that had another process before: waits for the end of that one, or ends it.
  absl::Status Start(const std::string& id);
  testing::ServerProcess& Of(const std::string& id) { return members_[id]; }
  void Stop(const std::string& id);  // by SIGTERM; does not wait
  void StopAll();
  nlohmann::json Told() const;  // the lines of each
  std::string LogOf(const std::string& id) const { return logs_ + "/" + id; }

 private:
  const std::vector<std::string> program_;
  const std::vector<std::string> arguments_;
  const std::string logs_;
  std::map<std::string, testing::ServerProcess> members_;
};

}  // namespace zkrecipes::verification

#endif  // ZKRECIPES_VERIFICATION_PARTITIONS_SERVICE_H_
