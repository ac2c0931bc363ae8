// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "integration/servers/command.h"
#include "integration/servers/network_fixture.h"
#include "lib/base/boot_time.h"

namespace zkrecipes::servers {
namespace {

using base::UniqueFd;

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

constexpr absl::Duration kDelay = absl::Milliseconds(200);

// A receiver that waits in vain gives up.
void LimitPatience(const UniqueFd& fd) {
  const timeval patience{10, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

bool Say(const UniqueFd& fd, const std::string& text) {
  return send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

std::string Hear(const UniqueFd& fd, size_t size) {
  std::string text(size, ' ');
  const ssize_t n = recv(fd.get(), text.data(), size, MSG_WAITALL);
  text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return text;
}

// A connection between two hosts.
class Line {
 public:
  Line(const Host& from, const Host& to) : near(SocketIn(from, SOCK_STREAM)) {
    const sockaddr_in address = AddressOf(to);
    UniqueFd listener;
    EXPECT_TRUE(InNamespace(to.network_namespace, [&] { listener = Listen(address); }).ok());
    LimitPatience(listener);
    EXPECT_EQ(connect(near.get(), Generic(address), sizeof(address)), 0);
    far = UniqueFd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_GE(far.get(), 0);
    LimitPatience(near);
    LimitPatience(far);
  }

  // The time that a word takes there and back.
  absl::Duration RoundTrip() const {
    const base::BootTime begin = base::BootNow();
    EXPECT_TRUE(Say(near, "there"));
    EXPECT_EQ(Hear(far, 5), "there");
    EXPECT_TRUE(Say(far, "back"));
    EXPECT_EQ(Hear(near, 4), "back");
    return base::BootNow() - begin;
  }

  // Whether it was reset, or is when it says something.
  bool IsReset() const {
    char buffer[1];
    const bool failed = !Say(near, "?") || recv(near.get(), buffer, 1, 0) < 0;
    return failed && errno == ECONNRESET;
  }

  UniqueFd near;
  UniqueFd far;
};

class SlowLinkTest : public NetworkTest {
 protected:
  void SetUp() override {
    NetworkTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    a_ = *network().AddHost();
    b_ = *network().AddHost();
  }
  void Slow(const Slowness& slowness) {
    const absl::Status status = network().Slow(a_, slowness);
    ASSERT_TRUE(status.ok()) << status;
  }

  Host a_;
  Host b_;
};

TEST_F(SlowLinkTest, WhatASlowHostSaysAndHearsTakesItsTime) {
  Slow({.each_way = kDelay});
  const Line line(a_, b_);
  for (int i = 0; i < 3; ++i) EXPECT_GE(line.RoundTrip(), 2 * kDelay);
}

TEST_F(SlowLinkTest, ALotArrivesWholeAndInOrder) {
  Slow({.each_way = absl::Milliseconds(20)});
  const Line line(a_, b_);
  std::string text;
  for (int i = 0; text.size() < 3'000'000; ++i) text += std::to_string(i);
  std::thread sender([&] { EXPECT_TRUE(Say(line.near, text)); });
  EXPECT_TRUE(Hear(line.far, text.size()) == text);
  sender.join();
}

TEST_F(SlowLinkTest, TheEndArrivesAfterAllThatWasSaid) {
  Slow({.each_way = kDelay});
  Line line(a_, b_);
  ASSERT_TRUE(Say(line.near, "last words"));
  line.near.reset();
  EXPECT_EQ(Hear(line.far, 10), "last words");
  char none[1];
  EXPECT_EQ(recv(line.far.get(), none, 1, 0), 0);
}

TEST_F(SlowLinkTest, ANarrowLinkTakesItsTimeForManyBytes) {
  Slow({.bytes_per_second = 10'000});
  const Line line(a_, b_);
  const base::BootTime begin = base::BootNow();
  ASSERT_TRUE(Say(line.near, std::string(5'000, 'x')));
  EXPECT_EQ(Hear(line.far, 5'000).size(), 5'000u);
  EXPECT_GE(base::BootNow() - begin, absl::Milliseconds(450));
}

TEST_F(SlowLinkTest, OpenConnectionsAreResetWhenAHostGetsSlowAndWhenThatEnds) {
  const Line before(a_, b_);
  before.RoundTrip();
  Slow({.each_way = kDelay});
  EXPECT_TRUE(before.IsReset());
  const Line during(a_, b_);
  during.RoundTrip();
  Slow({});
  EXPECT_TRUE(during.IsReset());
  const Line after(a_, b_);
  absl::Duration best = absl::InfiniteDuration();
  for (int i = 0; i < 5; ++i) best = std::min(best, after.RoundTrip());
  EXPECT_LT(best, kDelay);
}

TEST_F(SlowLinkTest, ConnectionsThatOthersMadeAreNotTouched) {
  const Line line(b_, a_);
  line.RoundTrip();
  Slow({.each_way = kDelay});
  EXPECT_TRUE(Say(line.far, "the slow host speaks first"));
  EXPECT_EQ(Hear(line.near, 26), "the slow host speaks first");
  Slow({});
  line.RoundTrip();
}

TEST_F(SlowLinkTest, AConnectionToAClosedPortIsReset) {
  Slow({.each_way = kDelay});
  const UniqueFd fd = SocketIn(a_, SOCK_STREAM);
  LimitPatience(fd);
  const sockaddr_in address = AddressOf(b_);
  // The link itself accepts. The reset may even come before this thread knows.
  if (connect(fd.get(), Generic(address), sizeof(address)) == 0) {
    EXPECT_TRUE(Hear(fd, 1).empty());
  }
  EXPECT_EQ(errno, ECONNRESET);
}

}  // namespace
}  // namespace zkrecipes::servers
