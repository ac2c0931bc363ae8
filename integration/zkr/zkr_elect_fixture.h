// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_ELECT_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_ELECT_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "integration/zkr/zkr_fixture.h"

namespace zkrecipes::integration {

// Tests of `zkr elect` and `zkr observe`. The election is node_path().
class ZkrElectTest : public ZkrTest {
 protected:
  // zkr elect node_path() --candidate NAME --status-fd 3 FLAGS -- sh -c SCRIPT
  std::unique_ptr<Zkr> StartCandidate(const std::string& name, const std::string& script,
                                      const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments = {"elect", node_path(),   "--candidate",
                                          name,    "--status-fd", "3"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    for (const std::string& word : {std::string("--"), std::string("sh"), std::string("-c")}) {
      arguments.push_back(word);
    }
    arguments.push_back(script);
    return Start(arguments);
  }
  void DeleteNode(const std::string& node) {
    EXPECT_EQ(Connect()->Do(zk::Delete{node_path() + "/" + node}).code, zk::Code::kOk);
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_ELECT_FIXTURE_H_
