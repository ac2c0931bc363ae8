// SPDX-License-Identifier: Apache-2.0
//
// Promises in the corners: answers that come late, callers that gave up, strangers in the way.

#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "integration/two_worlds/election_fixture.h"
#include "lib/session/client_core.h"
#include "lib/zk/path.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;

class CornersInAWorld : public ElectionTest {
 protected:
  // `call` may block: it runs on a thread of its own, while the world's time goes on.
  template <typename Call>
  auto While(Call call) {
    return std::async(std::launch::async, std::move(call));
  }
  template <typename T>
  T Result(std::future<T>& future) {
    EXPECT_TRUE(world().Await(
        [&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
    return future.get();
  }
  // The path of the node that this client's next beat will ask to delete.
  static std::string PathOfBeat(const Client& client) {
    std::promise<std::string> path;
    internal::ClientAccess::Core(client)->Post([&path](session::Session* session) {
      path.set_value(std::get<zk::Delete>(session->CommittedBarrier()).path);
    });
    return path.get_future().get();
  }
};

class QuietCornersInAWorld : public CornersInAWorld {
 protected:
  // No contender watches its own node: only Verify finds out.
  std::shared_ptr<Client> NewQuietClient() {
    ClientOptions options;
    options.session_timeout = kNoOwnWatches;
    return NewClient(options);
  }
};

TEST_F(QuietCornersInAWorld, VerifyIsNotAnsweredByAQuestionFromBeforeTheCall) {
  const auto holder = NewQuietClient();
  const Lease lease = Acquired(holder);
  Pending waiter = Queued(client_, 2);
  world().HoldReplies(*holder);
  const auto verify = [&](absl::Duration timeout) {
    return While([&lease, timeout] { return lease.Verify({timeout}); });
  };
  auto first = verify(absl::Seconds(1));
  world().Pass(absl::Seconds(2));
  EXPECT_EQ(Result(first).code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(world().Delete(lease.node()));
  EXPECT_GT(Granted(waiter).token(), lease.token());
  auto second = verify(absl::Seconds(30));
  world().Pass(absl::Seconds(1));
  world().Reconnect(*holder);  // now the late answer to the first question comes
  EXPECT_EQ(Result(second).code(), StatusCode::kAborted);
}

TEST_F(QuietCornersInAWorld, ALeaseThatVerifyFoundGoneSaysSo) {
  const auto holder = NewQuietClient();
  Lease lease = Acquired(holder);
  ASSERT_TRUE(world().Delete(lease.node()));
  auto verified = While([&lease] { return lease.Verify(); });
  EXPECT_EQ(Result(verified).code(), StatusCode::kAborted);
  ExpectLost(std::move(lease), "deleted its node");
}

TEST_F(CornersInAWorld, AStrangerWhoKnowsWhereBeatsGoEndsNoLease) {
  const auto holder = NewClient();
  const Lease lease = Acquired(holder);
  const std::string beat = PathOfBeat(*holder);
  ASSERT_TRUE(world().Create(zk::ParentPath(beat)));
  ASSERT_TRUE(world().Create(beat));
  ASSERT_TRUE(world().Create(beat + "/x"));
  auto verified = While([&lease] { return lease.Verify(); });
  EXPECT_EQ(Result(verified), absl::OkStatus());
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
  auto upgraded = While([&] { return lock.Upgrade(*mine).status(); });
  ASSERT_TRUE(AwaitQueue(3));
  world().Pass(absl::Seconds(3));  // by then the upgrade watches its own node
  ASSERT_TRUE(world().Delete(node));
  ASSERT_TRUE(AwaitQueue(2));
  others.reset();
  EXPECT_EQ(Result(upgraded).code(), StatusCode::kAborted);
}

TEST_F(CornersInAWorld, AnotherClientsLeaseIsAnInvalidArgumentOfProclaim) {
  const auto leader = NewClient();
  const Lease lease = Elected(Election(leader, "a", "1"));
  const absl::Status status = Election(client_).Proclaim(lease, "2");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another client's"));
}

TEST_F(CornersInAWorld, ALockDelayThatWouldLoseEveryLeaseIsRefused) {
  Pending pending(client_, path(), {}, {.lock_delay = absl::Milliseconds(500)});
  EXPECT_EQ(Code(pending), StatusCode::kInvalidArgument);
  EXPECT_THAT(Queue(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace zkrecipes::integration
