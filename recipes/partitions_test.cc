// SPDX-License-Identifier: Apache-2.0
//
// The partitions that ship, on the ensemble in memory.

#include "zkrecipes/partitions.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "recipes/lock_fixture.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kAt[] = "/shards";
constexpr int kCount = 8;

// A process that is a member.
struct MemberUser : LockUser {
  std::optional<Partitions::Running> running;
  std::map<std::string, OwnedPartition> owned;
  PartitionsReport report;
  int gained = 0;
  bool ends_at_once = true;  // work that is asked to end does

  void Begin(std::vector<std::string> names, PartitionsOptions options) {
    auto started = Partitions(client, kAt, std::move(names), std::move(options))
                       .Start({.on_gained =
                                   [this](OwnedPartition partition) {
                                     ++gained;
                                     const std::string name = partition.name();
                                     EXPECT_TRUE(owned.emplace(name, std::move(partition)).second);
                                   },
                               .on_change = [this](const PartitionsReport& r) { report = r; }});
    ASSERT_TRUE(started.ok()) << started.status();
    running.emplace(*std::move(started));
  }
  std::set<std::string> believed() const {
    std::set<std::string> names;
    for (const auto& [name, partition] : owned) {
      if (partition.lease().believed()) names.insert(name);
    }
    return names;
  }
  size_t asked(PartitionEnd why) const {
    return static_cast<size_t>(std::ranges::count_if(
        owned, [why](const auto& o) { return o.second.end_reason() == why; }));
  }
  // Returns whether any work has ended.
  bool EndWhatIsAsked() {
    return std::erase_if(owned, [](const auto& o) { return o.second.end().stop_requested(); }) > 0;
  }
};

class PartitionsTest : public LockInMemoryTest {
 protected:
  // A member lives until its locks are gone, or its session is: both need the ensemble.
  ~PartitionsTest() override {
    for (const auto& member : members_) {
      member->owned.clear();
      member->running.reset();
      member->host->set_network(Host::Network::kUp);
    }
    PassTime(absl::Minutes(1));
  }
  static std::vector<std::string> Names(int count = kCount) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(absl::StrCat("s", i));
    return names;
  }
  MemberUser& Start(const std::string& id, PartitionsOptions options = {},
                    std::vector<std::string> names = Names()) {
    members_.push_back(std::make_unique<MemberUser>());
    MemberUser& member = *members_.back();
    memory::Start(simulation_, member);
    options.id = id;
    member.Begin(std::move(names), std::move(options));
    return member;
  }
  void Check() {
    std::set<std::string> all;
    for (const auto& member : members_) {
      for (const std::string& name : member->believed()) {
        EXPECT_TRUE(all.insert(name).second) << name << " has two owners";
      }
    }
    believed_ = all.size();
  }
  void Step(absl::Duration time) {
    const base::BootTime until = simulation_.now() + time;
    do {
      simulation_.RunUntil(std::min(until, simulation_.now() + absl::Milliseconds(20)));
      Check();
      for (const auto& member : members_) {
        if (member->ends_at_once && member->EndWhatIsAsked()) simulation_.RunUntilIdle();
      }
      Check();
    } while (simulation_.now() < until);
  }
  // Each of these has its share, and nobody waits.
  void ExpectBalanced(const std::vector<MemberUser*>& members, size_t names = kCount) {
    EXPECT_EQ(believed_, names);
    for (const MemberUser* member : members) {
      EXPECT_GE(member->believed().size(), names / members.size());
      EXPECT_LE(member->believed().size(), (names + members.size() - 1) / members.size());
      EXPECT_EQ(member->report.waited_for, 0);
      EXPECT_EQ(member->report.members, static_cast<int>(members.size()));
    }
  }
  std::vector<std::string> Below(const std::string& path) {
    return model().committed().Children(path);
  }

  std::vector<std::unique_ptr<MemberUser>> members_;
  size_t believed_ = 0;  // by any
};

TEST_F(PartitionsTest, OfOneMemberAreAllItsOwn) {
  MemberUser& a = Start("a");
  Step(absl::Milliseconds(500));
  EXPECT_EQ(a.gained, 0) << "others may come";
  Step(absl::Seconds(2));
  ExpectBalanced({&a});
  EXPECT_EQ(a.report.owned, kCount);
  EXPECT_TRUE(a.report.connected);
}

TEST_F(PartitionsTest, AreSharedByMembersThatBeginTogetherWithoutAMove) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  MemberUser& c = Start("c");
  Step(absl::Seconds(3));
  ExpectBalanced({&a, &b, &c});
  EXPECT_EQ(a.gained + b.gained + c.gained, kCount);
}

TEST_F(PartitionsTest, MoveToANewcomerAndNoOthers) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  MemberUser& c = Start("c");
  Step(absl::Milliseconds(500));
  ExpectBalanced({&a, &b, &c});
  EXPECT_LE(a.gained + b.gained + c.gained, kCount + kCount / 2);
}

TEST_F(PartitionsTest, StayWithTheirOwnerUntilItsWorkHasEnded) {
  MemberUser& a = Start("a");
  a.ends_at_once = false;
  Step(absl::Seconds(3));
  MemberUser& b = Start("b");
  Step(absl::Seconds(10));
  EXPECT_EQ(a.believed().size(), size_t{kCount});
  EXPECT_EQ(a.asked(PartitionEnd::kAskedBack), size_t{kCount} / 2);
  EXPECT_EQ(b.gained, 0);
  EXPECT_EQ(b.report.waited_for, kCount / 2);
  a.EndWhatIsAsked();
  simulation_.RunUntilIdle();
  EXPECT_EQ(b.gained, kCount / 2) << "it takes no time";
}

TEST_F(PartitionsTest, OfADeadMemberAreTakenAndOthersNotInterrupted) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  MemberUser& c = Start("c");
  Step(absl::Seconds(3));
  const auto before = a.believed();
  c.host->set_paused(true);
  Step(absl::Seconds(9));
  EXPECT_EQ(a.gained + b.gained + c.gained, kCount);
  Step(absl::Seconds(3));
  EXPECT_TRUE(std::ranges::includes(a.believed(), before));
  EXPECT_THAT(c.believed(), IsEmpty());
  ExpectBalanced({&a, &b});
  // It wakes up, and is told of what it has lost before anything else.
  c.host->set_paused(false);
  Step(absl::Seconds(5));
  ExpectBalanced({&a, &b, &c});
}

TEST_F(PartitionsTest, OfAMemberThatIsCutOffAreKeptUntilItsLeasesEnd) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  b.ends_at_once = false;
  b.host->set_network(Host::Network::kDown);
  Step(absl::Seconds(4));
  EXPECT_FALSE(b.report.connected);
  EXPECT_THAT(b.believed(), SizeIs(kCount / 2));
  Step(absl::Seconds(8));
  EXPECT_EQ(b.asked(PartitionEnd::kLost), size_t{kCount} / 2);
  ExpectBalanced({&a});
  b.ends_at_once = true;
  b.host->set_network(Host::Network::kUp);
  Step(absl::Seconds(8));
  ExpectBalanced({&a, &b});
}

// A view that came too late takes no work away.
TEST_F(PartitionsTest, AreNotInterruptedByALostConnection) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  for (int i = 0; i < 5; ++i) {
    a.host->BreakConnections();
    Step(absl::Seconds(1));
  }
  EXPECT_EQ(a.gained + b.gained, kCount);
  ExpectBalanced({&a, &b});
}

TEST_F(PartitionsTest, AreHandedOverByAMemberThatDrains) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  b.ends_at_once = false;
  absl::Status left = absl::UnknownError("");
  b.running.reset();
  EXPECT_EQ(b.asked(PartitionEnd::kStopping), 0u) << "no step was taken";
  Step(absl::Milliseconds(200));
  EXPECT_EQ(b.asked(PartitionEnd::kStopping), size_t{kCount} / 2) << "it was dropped";
  EXPECT_THAT(a.believed(), SizeIs(kCount / 2));
  b.owned.clear();
  Step(absl::Milliseconds(200));
  ExpectBalanced({&a});
}

TEST_F(PartitionsTest, OfOtherListsAreToldAndTakenOverAsTheyBecomeFree) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  MemberUser& c = Start("c", {}, Names(kCount + 2));
  Step(absl::Seconds(3));
  EXPECT_EQ(a.report.other_lists, 1);
  EXPECT_EQ(c.report.other_lists, 2);
  EXPECT_EQ(a.gained + b.gained, kCount) << "nothing was moved";
  EXPECT_EQ(c.believed(), (std::set<std::string>{"s8", "s9"}));
  a.running.reset();
  Step(absl::Seconds(1));
  b.running.reset();
  Step(absl::Seconds(1));
  ExpectBalanced({&c}, kCount + 2);
}

TEST_F(PartitionsTest, GoByWeight) {
  MemberUser& a = Start("a", {.weight = 3});
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  EXPECT_THAT(a.believed(), SizeIs(6));
  EXPECT_THAT(b.believed(), SizeIs(2));
}

TEST_F(PartitionsTest, ThatAreGivenBackUnaskedAreAcquiredAgainAfterAPause) {
  MemberUser& a = Start("a", {}, {"only"});
  Step(absl::Seconds(2));
  ASSERT_EQ(a.gained, 1);
  for (int i = 0; i < 8; ++i) {
    a.owned.clear();
    Step(absl::Milliseconds(20));
    EXPECT_THAT(a.owned, IsEmpty());
    Step(absl::Seconds(15));
    ASSERT_THAT(a.owned, SizeIs(1));
  }
}

TEST_F(PartitionsTest, AreAcquiredAgainInTheNextSession) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(3));
  Expire(a);
  Step(absl::Seconds(5));
  EXPECT_EQ(a.gained, 2 * kCount);
  ExpectBalanced({&a});
}

TEST_F(PartitionsTest, LeaveNothingButWhatTellsThatAMemberMayComeBack) {
  MemberUser& a = Start("a");
  Start("b");
  Step(absl::Seconds(3));
  a.running.reset();
  Step(absl::Seconds(1));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(2));
  members_[1]->running.reset();
  Step(absl::Seconds(1));
  EXPECT_THAT(Below("/shards/members"), IsEmpty());
  for (const std::string& name : Names())
    EXPECT_THAT(Below("/shards/partitions/" + name), IsEmpty());
  EXPECT_EQ(model().watches(), 0u);
}

// Together with the next change.
TEST_F(PartitionsTest, ForgetAMemberThatDoesNotComeBack) {
  MemberUser& a = Start("a");
  MemberUser& b = Start("b");
  Step(absl::Seconds(3));
  a.running.reset();
  Step(absl::Minutes(12));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(2));
  MemberUser& c = Start("c");
  Step(absl::Seconds(10));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(2));
  ExpectBalanced({&b, &c});
}

TEST_F(PartitionsTest, HaveOneHomeForAMemberWhateverItsWeight) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(3));
  a.running.reset();
  Step(absl::Seconds(1));
  MemberUser& again = Start("a", {.weight = 2});
  Step(absl::Seconds(5));
  EXPECT_THAT(Below("/shards/homes"), SizeIs(1));
  ExpectBalanced({&again});
}

// The first one that is back does not take what the others had.
TEST_F(PartitionsTest, GoBackToTheirOwnersAfterAnOutage) {
  std::vector<MemberUser*> all = {&Start("a"), &Start("b"), &Start("c")};
  Step(absl::Seconds(3));
  std::vector<std::set<std::string>> before;
  for (MemberUser* member : all) {
    before.push_back(member->believed());
    member->host->set_network(Host::Network::kDown);
  }
  Step(absl::Seconds(30));
  EXPECT_EQ(believed_, 0u);
  for (MemberUser* member : all) {
    member->host->set_network(Host::Network::kUp);
    Step(absl::Milliseconds(100));
  }
  Step(absl::Seconds(15));
  ExpectBalanced(all);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i]->believed(), before[i]);
  EXPECT_EQ(all[0]->gained + all[1]->gained + all[2]->gained, 2 * kCount);
}

TEST_F(PartitionsTest, OfWorkThatDoesNotEndWithItsLeaseAreTold) {
  MemberUser& a = Start("a", {.acquire = {.hold_at_most = absl::Seconds(5)}}, {"only"});
  a.ends_at_once = false;
  Step(absl::Seconds(10));
  EXPECT_EQ(a.report.lost, 1);
  EXPECT_EQ(a.report.owned, 0);
  a.owned.clear();
  Step(absl::Seconds(1));
  EXPECT_EQ(a.report.lost, 0);
  EXPECT_THAT(a.believed(), SizeIs(1));
}

// Work has just returned by itself, and its lock is being given back, when the client closes.
TEST_F(PartitionsTest, AreOverWithAClientThatIsClosedWhileOneIsGivenBack) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(3));
  a.owned.clear();
  a.client->CloseAsync({}, [](const absl::Status&) {});
  Step(absl::Seconds(1));
  a.running.reset();
  const std::weak_ptr<Client> client = std::exchange(a.client, nullptr);
  Step(absl::Seconds(1));
  EXPECT_TRUE(client.expired()) << "what is not over keeps its client";
}

TEST_F(PartitionsTest, MoveAtMostTwiceWhileAllMembersRestart) {
  constexpr int kMembers = 5;
  constexpr int kNames = 40;
  std::vector<MemberUser*> now;
  for (int i = 0; i < kMembers; ++i) now.push_back(&Start(absl::StrCat(i), {}, Names(kNames)));
  Step(absl::Seconds(4));
  ExpectBalanced(now, kNames);
  std::map<std::string, std::string> owners;
  std::map<std::string, int> moves;
  const auto see = [&] {
    for (int i = 0; i < kMembers; ++i) {
      for (const std::string& name : now[size_t(i)]->believed()) {
        std::string& owner = owners[name];
        if (owner != absl::StrCat(i) && !owner.empty()) ++moves[name];
        owner = absl::StrCat(i);
      }
    }
  };
  see();
  for (int i = 0; i < kMembers; ++i) {
    now[size_t(i)]->running.reset();
    Step(absl::Seconds(4));
    see();
    now[size_t(i)] = &Start(absl::StrCat(i), {}, Names(kNames));
    Step(absl::Seconds(4));
    see();
    ExpectBalanced(now, kNames);
  }
  EXPECT_THAT(moves, SizeIs(kNames));
  for (const auto& [name, count] : moves) EXPECT_LE(count, 2) << name;
}

TEST_F(PartitionsTest, HaveFewAcquiresUnderWay) {
  MemberUser& a = Start("a", {.at_once = 2});
  MemberUser& b = Start("b", {.at_once = 1});
  Step(absl::Seconds(4));
  ExpectBalanced({&a, &b});
}

TEST_F(PartitionsTest, EndWithAClientThatIsClosed) {
  MemberUser& a = Start("a");
  Step(absl::Seconds(3));
  a.client->CloseAsync({}, [](const absl::Status&) {});
  Step(absl::Seconds(1));
  EXPECT_EQ(a.running->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(a.asked(PartitionEnd::kLost), a.owned.size());
}

TEST_F(PartitionsTest, AreRefusedIfARuleIsBroken) {
  MemberUser user;
  memory::Start(simulation_, user);
  const auto code = [&](std::vector<std::string> names, PartitionsOptions options = {},
                        const std::string& path = kAt) {
    const PartitionEvents events = {.on_gained = [](OwnedPartition) {}};
    return Partitions(user.client, path, std::move(names), options).Start(events).status().code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({}), kInvalid);
  EXPECT_EQ(code({"a", "a"}), kInvalid);
  EXPECT_EQ(code({"a/b"}), kInvalid);
  EXPECT_EQ(code({".."}), kInvalid);
  EXPECT_EQ(code({""}), kInvalid);
  EXPECT_EQ(code({"a"}, {}, "shards"), kInvalid);
  EXPECT_EQ(code({"a"}, {.id = "a\nb"}), kInvalid);
  EXPECT_EQ(code({"a"}, {.acquire = {.hold_at_most = absl::ZeroDuration()}}), kInvalid);
  EXPECT_EQ(code({"a"}, {.weight = 0}), kInvalid);
  EXPECT_EQ(code({"a"}, {.weight = 101}), kInvalid);
  EXPECT_EQ(code({"a"}, {.first_wait = absl::InfiniteDuration()}), kInvalid);
  EXPECT_EQ(code({"a"}, {.at_once = 0}), kInvalid);
  EXPECT_EQ(code({"a"}, {.drain = absl::Seconds(-1)}), kInvalid);
  EXPECT_EQ(code({"a"}, {.first_pause = absl::Seconds(11)}), kInvalid);
  EXPECT_EQ(Partitions(user.client, kAt, 1).Start({}).status().code(), kInvalid);
}

// Whatever comes when: no partition has two owners, and once it is calm each has one.
TEST_F(PartitionsTest, KeepTheirPromisesInAnyOrderOfEvents) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    members_.clear();
    for (int i = 0; i < 4; ++i)
      Start(absl::StrCat("first-", i), {.first_wait = absl::Milliseconds(50)});
    for (int step = 0; step < 1500; ++step) {
      const size_t which = random() % members_.size();
      MemberUser& member = *members_[which];
      switch (random() % 80) {
        case 0:
          if (random() % 4 == 0) member.running.reset();
          break;
        case 1:
          if (!member.running)
            member.Begin(Names(), {.id = absl::StrCat(which, "-", random() % 3)});
          break;
        case 2:
          if (random() % 4 == 0) member.host->BreakConnections();
          break;
        case 3:
          member.host->set_network(random() % 3 == 0 ? Host::Network::kDown : Host::Network::kUp);
          break;
        case 4:
          if (random() % 8 == 0) member.host->set_paused(true);
          break;
        case 5:
          member.host->set_paused(false);
          break;
        case 6:
          if (random() % 4 == 0 && !member.owned.empty()) member.owned.erase(member.owned.begin());
          break;
        case 7:
        case 8:
        case 9:
          member.EndWhatIsAsked();
          break;
        default:
          RunAnyStep(random);
      }
      Check();
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      members_[i]->host->set_network(Host::Network::kUp);
      members_[i]->host->set_paused(false);
      if (!members_[i]->running) members_[i]->Begin(Names(), {.id = absl::StrCat("late-", i)});
    }
    Step(absl::Seconds(40));
    EXPECT_EQ(believed_, size_t{kCount});
    int waited_for = 0;
    for (const auto& member : members_) waited_for += member->report.waited_for;
    EXPECT_EQ(waited_for, 0);
    for (const auto& member : members_) member->running.reset();
    Step(absl::Seconds(3));
    EXPECT_EQ(believed_, 0u);
    members_.clear();
    Step(absl::Minutes(1));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace zkrecipes::testing::memory

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
