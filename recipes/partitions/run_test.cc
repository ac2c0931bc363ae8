// SPDX-License-Identifier: Apache-2.0
//
// Members of partitions with threads.

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"

#include "zkrecipes/partitions.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

// Members with threads.
class PartitionsRunTest : public ::testing::Test {
 protected:
  struct Member {
    std::shared_ptr<Client> client;
    std::stop_source stop;
    std::mutex mutex;
    std::set<std::string> working;  // guarded by the mutex
    std::future<absl::Status> run;

    size_t works() {
      const std::lock_guard lock(mutex);
      return working.size();
    }
  };
  ~PartitionsRunTest() override {
    for (const auto& member : members_) {
      member->stop.request_stop();
      if (!member->run.valid()) continue;
      EXPECT_TRUE(Await([&] { return over(*member); }));
    }
  }

  Member& Start(const std::string& id, PartitionsOptions options = {}) {
    members_.push_back(std::make_unique<Member>());
    Member& member = *members_.back();
    member.client = *ensemble_.Connect();
    options.id = id;
    member.run = std::async(std::launch::async, [this, &member, options] {
      return Partitions(member.client, "/p", 6, options)
          .Run(member.stop.get_token(),
               [this, &member](const std::string& name, const Lease& lease, std::stop_token end) {
                 EXPECT_TRUE(lease.believed());
                 {
                   const std::lock_guard lock(member.mutex);
                   EXPECT_TRUE(member.working.insert(name).second);
                 }
                 std::promise<void> ended;
                 {
                   const std::stop_callback on_end(end, [&ended] { ended.set_value(); });
                   ended.get_future().wait();
                 }
                 const std::lock_guard lock(member.mutex);
                 member.working.erase(name);
                 ++ended_;
               });
    });
    return member;
  }
  static bool over(const Member& member) {
    return member.run.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  bool Await(const std::function<bool()>& condition) { return ensemble_.AdvanceUntil(condition); }

  InMemoryEnsemble ensemble_;
  std::vector<std::unique_ptr<Member>> members_;
  std::atomic<int> ended_ = 0;
};

TEST_F(PartitionsRunTest, HaveAThreadEachAndAreHandedOver) {
  Member& a = Start("a");
  ASSERT_TRUE(Await([&] { return a.works() == 6; }));
  Member& b = Start("b");
  ASSERT_TRUE(Await([&] { return a.works() == 3 && b.works() == 3; }));
  a.stop.request_stop();
  ASSERT_TRUE(Await([&] { return over(a) && b.works() == 6; }));
  EXPECT_EQ(a.run.get(), absl::OkStatus());
  b.stop.request_stop();
  ASSERT_TRUE(Await([&] { return over(b); }));
  EXPECT_EQ(b.run.get(), absl::OkStatus());
  EXPECT_EQ(ended_, 12);
  EXPECT_THAT(ensemble_.Paths("/p/members"), ::testing::IsEmpty());
}

// The other one counts as a member, and cannot ask for anything.
TEST_F(PartitionsRunTest, AreWorkedOnWhileTheyDrainAndNoneWaitsForThem) {
  Member& a = Start("a");
  Member& b = Start("b");
  ASSERT_TRUE(Await([&] { return a.works() == 3 && b.works() == 3; }));
  ensemble_.Disconnect(*b.client);
  a.stop.request_stop();
  ASSERT_TRUE(Await([&] { return ensemble_.Paths("/p/members").size() == 1; }));
  ensemble_.Advance(absl::Seconds(2));
  EXPECT_EQ(a.works(), 3u);
  ASSERT_TRUE(Await([&] { return over(a); }));
  EXPECT_EQ(a.run.get(), absl::OkStatus());
  ensemble_.Reconnect(*b.client);
}

// The only member that it sees is not itself, but a namesake, which does not want anything yet.
TEST_F(PartitionsRunTest, AreWorkedOnWhileTheyDrainBesideANamesake) {
  Member& a = Start("a");
  ASSERT_TRUE(Await([&] { return a.works() == 6; }));
  Start("a", {.first_wait = absl::Hours(1)});
  ASSERT_TRUE(Await([&] { return ensemble_.Paths("/p/members").size() == 2; }));
  ensemble_.Advance(absl::Seconds(3));
  a.stop.request_stop();
  ASSERT_TRUE(Await([&] { return ensemble_.Paths("/p/members").size() == 1; }));
  ensemble_.Advance(absl::Seconds(2));
  EXPECT_EQ(a.works(), 6u);
  ASSERT_TRUE(Await([&] { return over(a); }));
  EXPECT_EQ(a.run.get(), absl::OkStatus());
}

TEST_F(PartitionsRunTest, AreBegunAgainAfterALoss) {
  Member& a = Start("a");
  ASSERT_TRUE(Await([&] { return a.works() == 6; }));
  ensemble_.Expire(*a.client);
  ASSERT_TRUE(Await([&] { return ended_ == 6 && a.works() == 6; }));
}

TEST_F(PartitionsRunTest, EndWithTheirClient) {
  Member& a = Start("a");
  ASSERT_TRUE(Await([&] { return a.works() == 6; }));
  EXPECT_EQ(a.client->Close(), absl::OkStatus());
  ASSERT_TRUE(Await([&] { return over(a); }));
  EXPECT_EQ(a.run.get().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PartitionsRunTest, StopBeforeTheyHaveBegun) {
  Member& a = Start("a", {.first_wait = absl::Hours(1)});
  a.stop.request_stop();
  ASSERT_TRUE(Await([&] { return over(a); }));
  EXPECT_EQ(a.run.get(), absl::OkStatus());
}

TEST_F(PartitionsRunTest, TellWhatEachMemberWouldHave) {
  Start("a");
  Start("b");
  ASSERT_TRUE(Await([&] { return members_[0]->works() == 3 && members_[1]->works() == 3; }));
  const auto all = Partitions(members_[0]->client, "/p", 6).Assignment();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 6u);
  for (const auto& one : *all) {
    const auto& owner = *members_[one.member == "a" ? 0 : 1];
    EXPECT_TRUE(owner.working.contains(one.name)) << one.name;
  }
  const auto wrong = Partitions(members_[0]->client, "/p", 7).Assignment();
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PartitionsRunTest, MayBeLeftByTheirReceiver) {
  const auto client = *ensemble_.Connect();
  std::atomic<int> gained = 0;
  std::optional<Partitions::Running> running;
  std::promise<absl::Status> left;
  std::promise<void> kept;
  auto started = Partitions(client, "/p", 6).Start({.on_gained = [&](OwnedPartition one) {
    { const OwnedPartition dropped = std::move(one); }
    if (++gained > 1) return;
    kept.get_future().wait();
    left.set_value(std::move(*running).Leave());
  }});
  ASSERT_TRUE(started.ok());
  running.emplace(*std::move(started));
  kept.set_value();
  auto done = left.get_future();
  EXPECT_TRUE(
      Await([&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_EQ(done.get(), absl::OkStatus());
}

TEST_F(PartitionsRunTest, TellWhyTheyWereRefused) {
  const auto client = *ensemble_.Connect();
  std::promise<absl::Status> ended;
  auto running =
      Partitions(client, "/p", 6)
          .Start({.on_gained = [](OwnedPartition) {},
                  .on_ended = [&](absl::Status why) { ended.set_value(std::move(why)); }});
  ASSERT_TRUE(running.ok());
  EXPECT_EQ(client->Close(), absl::OkStatus());
  auto told = ended.get_future();
  EXPECT_TRUE(
      Await([&] { return told.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_EQ(told.get().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PartitionsRunTest, LeaveInEvents) {
  const auto client = *ensemble_.Connect();
  std::mutex mutex;
  std::vector<OwnedPartition> owned;
  std::atomic<int> gained = 0;
  auto running =
      Partitions(client, "/p", 6, {.id = "a"}).Start({.on_gained = [&](OwnedPartition one) {
        const std::lock_guard lock(mutex);
        owned.push_back(std::move(one));
        ++gained;
      }});
  ASSERT_TRUE(running.ok());
  ASSERT_TRUE(Await([&] { return gained == 6; }));
  auto left = std::async(std::launch::async, [&] { return std::move(*running).Leave(); });
  ASSERT_TRUE(Await([&] {
    const std::lock_guard lock(mutex);
    return std::ranges::all_of(owned, [](const OwnedPartition& one) {
      return one.end_reason() == PartitionEnd::kStopping;
    });
  }));
  EXPECT_NE(left.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  {
    const std::lock_guard lock(mutex);
    owned.clear();
  }
  EXPECT_TRUE(
      Await([&] { return left.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_EQ(left.get(), absl::OkStatus());
}

}  // namespace
}  // namespace zkrecipes::testing
