// SPDX-License-Identifier: Apache-2.0

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "testing/local/server_start.h"

namespace zkrecipes::testing {
namespace {

void ExpectRefused(const LocalEnsembleOptions& options, const std::string& name) {
  const absl::Status status = CheckOptions(options);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.ToString(), ::testing::HasSubstr("LocalEnsembleOptions." + name + " is "));
}

TEST(Options, DefaultsAndLimitsAreAccepted) {
  EXPECT_TRUE(CheckOptions({}).ok());
  EXPECT_TRUE(CheckOptions({.servers = 9,
                            .addresses = std::vector<std::string>(9, "127.0.0.2"),
                            .tick = absl::Milliseconds(1),
                            .max_session_timeout = absl::Milliseconds(2),
                            .extra_config = {{"jute.maxbuffer", "4194304"}},
                            .max_lifetime = absl::InfiniteDuration()})
                  .ok());
}

TEST(Options, EachOptionOutOfRangeIsNamed) {
  ExpectRefused({.servers = 0}, "servers");
  ExpectRefused({.servers = 10}, "servers");
  ExpectRefused({.addresses = {"127.0.0.1"}}, "addresses");
  ExpectRefused({.servers = 1, .addresses = {"localhost"}}, "addresses");
  ExpectRefused({.tick = absl::ZeroDuration()}, "tick");
  ExpectRefused({.tick = absl::Microseconds(1500)}, "tick");
  ExpectRefused({.tick = absl::InfiniteDuration()}, "tick");
  ExpectRefused({.init_limit = 0}, "init_limit");
  ExpectRefused({.sync_limit = -1}, "sync_limit");
  ExpectRefused({.min_session_timeout = absl::Seconds(-1)}, "min_session_timeout");
  ExpectRefused({.container_check_interval = absl::Hours(1000)}, "container_check_interval");
  ExpectRefused({.max_heap_megabytes = 8}, "max_heap_megabytes");
  ExpectRefused({.start_timeout = absl::ZeroDuration()}, "start_timeout");
  ExpectRefused({.max_lifetime = absl::Seconds(-1)}, "max_lifetime");
}

TEST(Options, TheLongestSessionIsNoShorterThanTheShortest) {
  ExpectRefused({.tick = absl::Seconds(1), .max_session_timeout = absl::Seconds(1)},
                "max_session_timeout");
  ExpectRefused({.min_session_timeout = absl::Seconds(3), .max_session_timeout = absl::Seconds(2)},
                "max_session_timeout");
}

TEST(Options, ExtraConfigCannotSmuggleInAnotherLine) {
  ExpectRefused({.extra_config = {{"a", "b\nclientPort=1"}}}, "extra_config");
  ExpectRefused({.extra_config = {{"a=b", "c"}}}, "extra_config");
  ExpectRefused({.extra_config = {{"", "c"}}}, "extra_config");
}

}  // namespace
}  // namespace zkrecipes::testing
