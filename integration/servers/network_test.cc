// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

#include "integration/servers/network_fixture.h"

namespace zkrecipes::servers {
namespace {

TEST_F(NetworkTest, ADropIsOneWayAndOthersDoNotNoticeIt) {
  const Post a(*network().AddHost());
  const Post b(*network().AddHost());
  const Post c(*network().AddHost());
  ASSERT_TRUE(network().Drop(a.host(), b.host()).ok());
  EXPECT_EQ(a.Send(2, b), 0);
  EXPECT_EQ(b.Send(2, a), 2);
  EXPECT_EQ(c.Send(2, b), 2);
  EXPECT_EQ(a.Send(2, c), 2);
}

TEST_F(NetworkTest, AShareOfThePacketsIsDropped) {
  const Post a(*network().AddHost());
  const Post b(*network().AddHost());
  ASSERT_TRUE(network().Drop(a.host(), b.host(), 0.5).ok());
  const int arrived = a.Send(100, b);
  EXPECT_GT(arrived, 20);  // by chance once in 10^9
  EXPECT_LT(arrived, 80);
}

TEST_F(NetworkTest, MendingAHostUndoesWhatWasDroppedToItAndFromIt) {
  const Post a(*network().AddHost());
  const Post b(*network().AddHost());
  const Post c(*network().AddHost());
  for (const auto& [from, to] : {std::pair(&a, &b), {&b, &a}, {&b, &c}}) {
    ASSERT_TRUE(network().Drop(from->host(), to->host()).ok());
  }
  ASSERT_TRUE(network().Mend(a.host()).ok());
  EXPECT_EQ(a.Send(1, b), 1);
  EXPECT_EQ(b.Send(1, a), 1);
  EXPECT_EQ(b.Send(1, c), 0);
  ASSERT_TRUE(network().Mend(b.host()).ok());
  EXPECT_EQ(b.Send(1, c), 1);
}

TEST_F(NetworkTest, HostsCanJoinABridgeThatIsThere) {
  const Post a(*network().AddHost());
  const auto joined = Network::Join("zkrecipes0", "10.77.0.221", 24);
  ASSERT_TRUE(joined.ok()) << joined.status();
  const Post b(*(*joined)->AddHost());
  const Post c(*(*joined)->AddHost());
  EXPECT_EQ(c.host().address, "10.77.0.222");
  EXPECT_EQ(a.Send(1, b), 1);
  EXPECT_EQ(c.Send(1, b), 1);
  ASSERT_TRUE((*joined)->Drop(a.host(), b.host()).ok());
  EXPECT_EQ(a.Send(1, b), 0);
  EXPECT_EQ(c.Send(1, b), 1);
}

TEST_F(NetworkTest, AHostThatIsGoneNeedsNoMending) {
  const Post a(*network().AddHost());
  const Post b(*network().AddHost());
  // A container's namespace goes with its process, this one with its descriptor.
  base::UniqueFd held(open(b.host().network_namespace.c_str(), O_RDONLY | O_CLOEXEC));
  const Host gone{b.host().address, absl::StrCat("/proc/", getpid(), "/fd/", held.get())};
  ASSERT_TRUE(network().Drop(a.host(), gone).ok());
  held.reset();
  EXPECT_TRUE(network().Mend(gone).ok());
}

}  // namespace
}  // namespace zkrecipes::servers
