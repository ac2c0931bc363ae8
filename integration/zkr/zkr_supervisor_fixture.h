// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_ZKR_ZKR_SUPERVISOR_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_ZKR_ZKR_SUPERVISOR_FIXTURE_H_

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "integration/zkr/zkr_process.h"

namespace zkrecipes::testing {

// How zkr keeps its command in hand, tried with tools/zkr/supervisor/supervise_driver.cc: no server
// takes part. Each test runs with both ways of keeping the tree together.
class Supervised : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "namespace" && !MayMakePidNamespace()) GTEST_SKIP() << kNoPidNamespace;
  }

  std::vector<std::string> Driver(const std::string& grace, const std::string& remaining,
                                  const std::vector<std::string>& command) {
    std::vector<std::string> argv = {
        ZKRECIPES_BIN_DIR "/zkr-supervise", GetParam(), grace, remaining, lock_, "--"};
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
  }
  std::vector<std::string> Shell(const std::string& script, const std::string& grace = "30s",
                                 const std::string& remaining = "1h") {
    return Driver(grace, remaining, {"sh", "-c", script});
  }

  // A script that holds the life line as descriptor 9, says so, and goes on with `then`.
  std::string Holding(const std::string& then) {
    return absl::StrCat("exec 9>", life_.path(), "; ", then);
  }

  void ExpectAskedToEnd(const std::string& once_ready, const std::string& grace,
                        const std::string& remaining, const std::function<void()>& trouble);
  void ExpectDeadBeforeTheDeadline(const std::string& grace, const std::function<void()>& trouble);

  void LoseTheLock() { std::ofstream(lock_ + ".loss") << "lost"; }
  void DoubtTheLock() { std::ofstream(lock_ + ".doubt") << "?"; }
  void ConfirmTheLock() { std::remove((lock_ + ".doubt").c_str()); }

  TempDir dir_;
  const std::string lock_ = dir_ / "lock";
  LifeLine life_{dir_ / "life"};
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_INTEGRATION_ZKR_ZKR_SUPERVISOR_FIXTURE_H_
