// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <fstream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "integration/servers/command.h"
#include "testing/local/server_process.h"
#include "testing/local/work_directory.h"
#include "verification/workload/recorder.h"

namespace zkrecipes::history {
namespace {

// A program's clocks, with the library that is worker/wall_clock.cc.
class WallClockTest : public ::testing::Test {
 protected:
  void Set(absl::Duration offset) {
    const int64_t nanoseconds = absl::ToInt64Nanoseconds(offset);
    std::ofstream(clock_).write(reinterpret_cast<const char*>(&nanoseconds), sizeof(nanoseconds));
  }

  // What python prints.
  double Ask(const std::string& expression) {
    const absl::StatusOr<std::string> printed = servers::Output(
        {"env", std::string("LD_PRELOAD=") + ZKRECIPES_BIN_DIR + "/zkrecipes-wall-clock.so",
         "ZKRECIPES_WALL_CLOCK=" + clock_, "/usr/bin/python3", "-c",
         "import time; print(" + expression + ")"});
    EXPECT_TRUE(printed.ok()) << printed.status();
    return std::stod(printed.value_or("0"));
  }

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::string clock_ = directory_.path() + "/clock";
};

TEST_F(WallClockTest, IsOffByWhatTheFileSays) {
  for (const absl::Duration offset : {absl::Hours(2), -absl::Hours(2), absl::ZeroDuration()}) {
    Set(offset);
    EXPECT_NEAR(Ask("time.time()"), absl::ToDoubleSeconds(absl::Now() + offset - absl::UnixEpoch()),
                600);
  }
}

TEST_F(WallClockTest, LeavesTheOtherClocksAlone) {
  Set(absl::Hours(2));
  EXPECT_NEAR(Ask("time.clock_gettime(time.CLOCK_BOOTTIME)"), 1e-9 * static_cast<double>(Now()),
              600);
}

TEST_F(WallClockTest, IsRightWithoutAFile) {
  EXPECT_NEAR(Ask("time.time()"), absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()), 600);
}

}  // namespace
}  // namespace zkrecipes::history
