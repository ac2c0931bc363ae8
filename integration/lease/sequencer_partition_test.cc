// SPDX-License-Identifier: Apache-2.0
//
// A resource checks sequencers on a server that is cut off from the ensemble, while the lock goes
// to another client.

#include <memory>
#include <string>

#include "gtest/gtest.h"

#include "integration/fixtures/raw_client.h"
#include "integration/lease/lease_fixture.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::integration {
namespace {

using SequencerPartitionTest = LeaseTest;

TEST_F(SequencerPartitionTest, ACheckGivesNoAnswerThoughTheServerStillShowsTheFormerHolder) {
  const int follower = Follower();
  const std::string path = NewPath();
  auto holder = NewClient(Leader(), {.session_timeout = absl::Seconds(30)});
  const Lease lease = Acquired(holder, path);
  auto other = NewClient(Leader(), {.session_timeout = absl::Minutes(1)});
  Pending next(other, path);
  auto reader = Connect(follower, absl::Seconds(30));
  auto resource = NewClient(follower, {.session_timeout = absl::Seconds(30)});
  ASSERT_TRUE(*CheckSequencer(*resource, lease.sequencer(), {kSoon}));
  CutOff(follower);
  ASSERT_TRUE(EndSession(ensemble().server(Leader()), holder->session_id()));
  ASSERT_TRUE(Eventually([&] { return next.answered(); }));
  EXPECT_FALSE(CheckSequencer(*resource, lease.sequencer(), {absl::Seconds(1)}).ok());
  // The control: a bare read of this server would still say that it holds.
  EXPECT_EQ(reader->Do(zk::Get{lease.node()}).stat.czxid, lease.token().value());
  MakeWhole();
  EXPECT_TRUE(Eventually([&] {
    const auto holds = CheckSequencer(*resource, lease.sequencer(), {kSoon});
    return holds.ok() && !*holds;
  }));
  EXPECT_TRUE(*CheckSequencer(*resource, next.Get()->sequencer(), {kSoon}));
}

}  // namespace
}  // namespace zkrecipes::integration
