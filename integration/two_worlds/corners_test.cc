// SPDX-License-Identifier: Apache-2.0
//
// Promises in the corners: answers that come late, callers that gave up, strangers in the way.

#include <future>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "integration/two_worlds/world_fixture.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

class CornersInAWorld : public WorldTest {
 protected:
  // `timeout` may pass: on a thread of its own, while the world's time goes on.
  static auto Verifying(const Lease& lease, absl::Duration timeout = absl::Seconds(30)) {
    return Elsewhere([&lease, timeout] { return lease.Verify({timeout}); });
  }
  // The path of the node that this client's next beat will ask to delete.
  static std::string PathOfBeat(const Client& client) {
    std::promise<std::string> path;
    internal::ClientAccess::Core(client)->Post([&path](session::Session* session) {
      path.set_value(std::get<zk::Delete>(session->CommittedBarrier()).path);
    });
    return path.get_future().get();
  }
  // No contender of its own watches its node: only Verify finds out.
  std::shared_ptr<Client> NewQuietClient() {
    ClientOptions options;
    options.session_timeout = kNoOwnWatches;
    return NewClient(options);
  }
};

TEST_F(CornersInAWorld, VerifyIsNotAnsweredByAQuestionFromBeforeTheCall) {
  const auto holder = NewQuietClient();
  const Lease lease = Acquired(holder);
  Pending waiter = Queued(client_, 2);
  world().HoldReplies(*holder);
  auto first = Verifying(lease, absl::Seconds(1));
  world().Pass(absl::Seconds(2));
  EXPECT_EQ(Result(std::move(first)).code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(world().Delete(lease.node()));
  EXPECT_GT(Granted(waiter).token(), lease.token());
  auto second = Verifying(lease);
  world().Pass(absl::Seconds(1));
  world().Reconnect(*holder);  // now the late answer to the first question comes
  EXPECT_EQ(Result(std::move(second)).code(), StatusCode::kAborted);
}

TEST_F(CornersInAWorld, ALeaseThatVerifyFoundGoneSaysSo) {
  const auto holder = NewQuietClient();
  Lease lease = Acquired(holder);
  ASSERT_TRUE(world().Delete(lease.node()));
  EXPECT_EQ(Result(Verifying(lease)).code(), StatusCode::kAborted);
  ExpectLost(std::move(lease), "deleted its node");
}

TEST_F(CornersInAWorld, AStrangerWhoKnowsWhereBeatsGoEndsNoLease) {
  const auto holder = NewClient();
  const Lease lease = Acquired(holder);
  const std::string beat = PathOfBeat(*holder);
  ASSERT_TRUE(world().Create(zk::ParentPath(beat)));
  ASSERT_TRUE(world().Create(beat));
  ASSERT_TRUE(world().Create(beat + "/x"));
  EXPECT_EQ(Result(Verifying(lease)), absl::OkStatus());
  EXPECT_NE(PathOfBeat(*holder), beat);
  world().Pass(absl::Seconds(5));  // more than two beats
  EXPECT_EQ(lease.state(), Lease::State::kHeld);
  EXPECT_GT(lease.remaining(), absl::Seconds(10));
  for (const std::string& path : {beat + "/x", beat, zk::ParentPath(beat)}) {
    EXPECT_TRUE(world().Delete(path));
  }
}

TEST_F(CornersInAWorld, AnUpgradeIsNotGrantedWhenTheSharedLeaseIsLostMeanwhile) {
  const auto other = NewClient();
  ReadWriteLock lock(client_, path());
  absl::StatusOr<Lease> mine = lock.AcquireShared();
  ASSERT_TRUE(mine.ok());
  std::optional<absl::StatusOr<Lease>> others = ReadWriteLock(other, path()).AcquireShared();
  ASSERT_TRUE(others->ok());
  const std::string node = mine->node();
  auto upgraded = Elsewhere([&] { return lock.Upgrade(*mine).status(); });
  ASSERT_TRUE(AwaitQueue(3));
  world().Pass(absl::Seconds(3));  // by then the upgrade watches its own node
  ASSERT_TRUE(world().Delete(node));
  ASSERT_TRUE(AwaitQueue(1)) << "the upgrade leaves with the lease that it follows";
  EXPECT_EQ(Result(std::move(upgraded)).code(), StatusCode::kAborted);
  others.reset();
}

TEST_F(CornersInAWorld, AnotherClientsLeaseIsAnInvalidArgumentOfProclaim) {
  const auto leader = NewClient();
  const auto lease = LeaderElection(leader, path(), {"a", "1"}).Campaign();
  ASSERT_TRUE(lease.ok());
  const absl::Status status = LeaderElection(client_, path()).Proclaim(*lease, "2");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another client's"));
}

}  // namespace
}  // namespace zkrecipes::integration
