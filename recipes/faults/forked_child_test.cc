// SPDX-License-Identifier: Apache-2.0
//
// A child that is forked while other threads hold the library's mutexes finds them locked for ever.
// So nothing that it calls may lock one before it has asked which process this is.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "zkrecipes/event_loop.h"
#include "zkrecipes/group.h"
#include "zkrecipes/guarded_write.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"
#include "zkrecipes/semaphore.h"
#include "zkrecipes/std_adapters.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using absl::StatusCode;
using ::testing::AnyOf;

class ForkedChildTest : public ::testing::Test {
 protected:
  using Over = std::atomic<bool>;

  // How many children do not see `passes`, each forked while three threads are at `busy`.
  static int Wrong(const std::function<void(const Over&)>& busy,
                   const std::function<bool()>& passes) {
    constexpr int kChildren = 40;
    constexpr unsigned kHangs = 10;  // seconds
    Over over = false;
    int wrong = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { busy(over); });
    for (int i = 0; i < kChildren; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(kHangs);
        _exit(passes() ? 0 : 1);
      }
      int status = 0;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      wrong += status == 0 ? 0 : 1;
    }
    over = true;
    return wrong;
  }
  // The same while the threads read `lease`.
  static int WrongBeside(const Lease& lease, const std::function<bool()>& passes) {
    const auto read = [&lease](const Over& over) {
      while (!over) (void)lease.remaining();
    };
    return Wrong(read, passes);
  }
  InMemoryEnsemble ensemble_;
  const std::shared_ptr<Client> client_ = *ensemble_.Connect();
};

TEST_F(ForkedChildTest, FindsALeaseLostAndItsEndAnnounced) {
  const Lease lease = *Lock(client_, "/lock").Acquire();
  EXPECT_EQ(WrongBeside(lease,
                        [&] {
                          return lease.ended().stop_requested() && !lease.believed() &&
                                 lease.Verify().code() == StatusCode::kFailedPrecondition;
                        }),
            0);
  EXPECT_TRUE(lease.believed());
}

TEST_F(ForkedChildTest, FindsItsClientClosed) {
  const auto subscribe = [this](const Over& over) {
    while (!over) const Subscription states = client_->OnStateChange([](ClientState) {});
  };
  EXPECT_EQ(Wrong(subscribe, [this] { return client_->state() == ClientState::kClosed; }), 0);
  EXPECT_EQ(client_->state(), ClientState::kConnected);
}

// Threads read the membership, and watch now and then: no more often than the client can follow.
TEST_F(ForkedChildTest, FindsAMembershipEndedAndItsGroupClosed) {
  const Group group(client_, "/group");
  Membership membership = *group.Join({.id = "a"});
  const auto busy = [&](const Over& over) {
    while (!over) {
      for (int i = 0; i < 100; ++i) (void)membership.remaining();
      const Subscription watch = group.Watch([](const auto&) {});
    }
  };
  const auto refused = StatusCode::kFailedPrecondition;
  EXPECT_EQ(Wrong(busy,
                  [&] {
                    bool told = false;
                    group.JoinAsync({}, {}, [&](const absl::StatusOr<Membership>& joined) {
                      told = joined.status().code() == refused;
                    });
                    const Subscription watch = group.Watch([](const auto&) {});
                    const bool ended =
                        membership.state() == Membership::State::kEnded && !membership.believed() &&
                        !membership.token() && membership.remaining() == absl::ZeroDuration() &&
                        membership.ended().stop_requested() &&
                        membership.status().code() == refused && membership.id() == "a";
                    return told && ended && group.Members().status().code() == refused &&
                           std::move(membership).Leave().code() == refused;
                  }),
            0);
  EXPECT_EQ(membership.state(), Membership::State::kMember);
}

TEST_F(ForkedChildTest, CannotProclaimOrWrite) {
  const LeaderElection election(client_, "/election", Candidate{"a"});
  const Lease lease = *election.Campaign();
  EXPECT_EQ(WrongBeside(lease,
                        [&] {
                          bool told = false;
                          election.ProclaimAsync(lease, "v", {}, [&](const absl::Status& status) {
                            told = status.code() == StatusCode::kFailedPrecondition;
                          });
                          return told &&
                                 election.Proclaim(lease, "v").code() ==
                                     StatusCode::kFailedPrecondition &&
                                 GuardedWrite(lease, {WriteOp::Delete("/x")}).code() ==
                                     StatusCode::kFailedPrecondition;
                        }),
            0);
}

TEST_F(ForkedChildTest, CannotUpgradeOrDowngrade) {
  const ReadWriteLock lock(client_, "/rw");
  Lease shared = *lock.AcquireShared();
  EXPECT_EQ(WrongBeside(shared,
                        [&] {
                          bool told = false;
                          lock.UpgradeAsync(shared, {}, [&](const absl::StatusOr<Lease>& lease) {
                            told = lease.status().code() == StatusCode::kFailedPrecondition;
                          });
                          return told && lock.Upgrade(shared).status().code() ==
                                             StatusCode::kFailedPrecondition;
                        }),
            0);
}

TEST_F(ForkedChildTest, HasNoPermitAndGetsNone) {
  const Semaphore semaphore(client_, "/semaphore", 2);
  Lease permit = *semaphore.Acquire();
  EXPECT_EQ(WrongBeside(permit,
                        [&] {
                          bool told = false;
                          semaphore.AcquireAsync({}, [&](const absl::StatusOr<Lease>& lease) {
                            told = lease.status().code() == StatusCode::kFailedPrecondition;
                          });
                          return told && !permit.believed() &&
                                 semaphore.TryAcquire().status().code() ==
                                     StatusCode::kFailedPrecondition &&
                                 std::move(permit).Release().code() ==
                                     StatusCode::kFailedPrecondition;
                        }),
            0);
  EXPECT_TRUE(permit.believed());
}

// Also one that was told to stop before it began: it has no acquire that would be refused.
TEST_F(ForkedChildTest, RunsNoWork) {
  const Lock lock(client_, "/work");
  std::stop_source stopped;
  stopped.request_stop();
  const auto run = [&lock](const std::stop_token& stop) {
    return lock.RunWhileHolding(stop, [](const Lease&, std::stop_token) { _exit(1); });
  };
  const auto busy = [&](const Over& over) {
    while (!over) (void)run(stopped.get_token());
  };
  EXPECT_EQ(Wrong(busy,
                  [&] {
                    return run(stopped.get_token()).ok() &&
                           run({}).code() == StatusCode::kFailedPrecondition;
                  }),
            0);
}

TEST_F(ForkedChildTest, FindsNoLeaseInAnAdapter) {
  DistributedSharedMutex mutex(client_, "/mutex");
  const auto hold = [&mutex](const Over& over) {
    mutex.lock_shared();
    while (!over) (void)mutex.lease().token();
    mutex.unlock_shared();
  };
  EXPECT_EQ(Wrong(hold, [&mutex] { return !mutex.lease().believed(); }), 0);
}

TEST_F(ForkedChildTest, CannotShareTheLoopOfItsParent) {
  const std::shared_ptr<EventLoop> loop = *EventLoop::Start();
  const ClientOptions options = {.servers = "127.0.0.1:1", .loop = loop};
  EXPECT_EQ(Wrong([](const Over&) {},
                  [&] {
                    const auto refused = StatusCode::kFailedPrecondition;
                    return Client::Create(options).status().code() == refused &&
                           Client::Connect(options).status().code() == refused;
                  }),
            0);
}

// A client that is closed by one thread while others use it.
// Time stands still, so a call that is never answered never returns.
TEST(ClosingInMemory, AnswersEveryCallThatOtherThreadsMakeMeanwhile) {
  constexpr int kRounds = 200;
  InMemoryEnsemble ensemble;
  for (int round = 0; round < kRounds; ++round) {
    auto client = *ensemble.Connect();
    const auto path = [round](const char* name) { return absl::StrCat("/closing/", round, name); };
    const Lease verified = *Lock(client, path("v")).Acquire();
    Lease released = *Lock(client, path("r")).Acquire();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) {
          EXPECT_THAT(verified.Verify().code(), AnyOf(StatusCode::kOk, StatusCode::kAborted));
        }
      });
    }
    threads.emplace_back([&] {
      EXPECT_THAT(std::move(released).Release().code(),
                  AnyOf(StatusCode::kOk, StatusCode::kAborted));
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const auto lease = Lock(client, path("a")).Acquire();
        EXPECT_THAT(lease.status().code(), AnyOf(StatusCode::kOk, StatusCode::kFailedPrecondition));
      }
    });
    EXPECT_EQ(client->Close(), absl::OkStatus());
  }
}

}  // namespace
}  // namespace zkrecipes::testing
