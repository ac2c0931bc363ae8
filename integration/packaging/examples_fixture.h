// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_PACKAGING_EXAMPLES_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_PACKAGING_EXAMPLES_FIXTURE_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/zkr/zkr_process.h"

namespace zkrecipes::integration {

// Runs the programs of examples/ as a reader does.
class ExamplesTest : public EnsembleTest {
 protected:
  // In a ZooKeeper namespace of the test's own.
  std::unique_ptr<testing::Program> Start(const std::string& name,
                                          const std::vector<std::string>& arguments = {}) {
    return std::make_unique<testing::Program>(
        testing::Joined({{std::string(ZKRECIPES_BIN_DIR) + "/examples/" + name}, arguments}),
        testing::ProgramOptions{.environment = {{"ZKR_SERVERS", servers() + node_path()}}});
  }

  static bool Says(const testing::Program& program, const std::string& text) {
    return Eventually([&] { return program.Out().find(text) != std::string::npos; });
  }

  // The number after the last `text` in the output; 0 if there is none.
  static int64_t NumberBehind(const testing::Program& program, const std::string& text) {
    const std::string out = program.Out();
    const size_t at = out.rfind(text);
    return at == std::string::npos ? 0 : std::atoll(out.c_str() + at + text.size());
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_PACKAGING_EXAMPLES_FIXTURE_H_
