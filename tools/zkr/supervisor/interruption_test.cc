// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/interruption.h"

#include <poll.h>
#include <sys/resource.h>

#include <optional>

#include "gtest/gtest.h"

namespace zkrecipes::zkr::supervisor {
namespace {

TEST(LossWatchTest, IsReadableFromTheLossOn) {
  std::stop_source source;
  const LossWatch watch(source.get_token());
  pollfd fd{watch.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&fd, 1, 0), 0);
  EXPECT_FALSE(watch.lost());
  EXPECT_GT(watch.MillisecondsTo(), 1000) << "nobody has to look";
  source.request_stop();
  EXPECT_EQ(poll(&fd, 1, 0), 1);
  EXPECT_TRUE(watch.lost());
}

TEST(LossWatchTest, IsLookedAtSoonWhereThereIsNoDescriptorForIt) {
  std::stop_source source;
  std::optional<LossWatch> watch;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  watch.emplace(source.get_token());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(watch->fd(), -1);
  EXPECT_LE(watch->MillisecondsTo(), 101);
  EXPECT_FALSE(watch->lost());
  source.request_stop();
  EXPECT_TRUE(watch->lost());
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor
