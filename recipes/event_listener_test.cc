// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/event_listener.h"

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/base/executor_fixture.h"
#include "lib/base/one_shot.h"
#include "lib/queue/acquire/acquisition.h"
#include "lib/session/subscriber.h"
#include "recipes/lock_fixture.h"
#include "testing/memory/tree.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Diary : public EventListener {
 public:
  void OnQueued(const std::string& path, int waits_for, const std::string& behind) override {
    Note(path, " queued behind ", waits_for, ": ", behind.substr(behind.rfind('-') + 1));
  }
  void OnPlaceLost(const std::string& path) override { Note(path, " place lost"); }
  void OnGranted(const Sequencer& lease, int64_t session, absl::Duration after) override {
    session_ = session;
    Note(lease.path(), " granted after ", absl::FormatDuration(after));
  }
  void OnNotGranted(const std::string& path, const absl::Status& why,
                    absl::Duration after) override {
    Note(path, " not granted after ", absl::FormatDuration(after), ": ",
         absl::StatusCodeToString(why.code()));
  }
  void OnSuspect(const Sequencer&) override { Note("suspect"); }
  void OnProven(const Sequencer&) override { Note("proven"); }
  void OnLost(const Sequencer&, LeaseEnd why) override {
    std::ostringstream text;
    text << why;
    Note("lost: ", text.str());
  }
  void OnReleased(const Sequencer&, absl::Duration held) override {
    Note("released after ", absl::FormatDuration(held));
  }
  void OnOpenParent(const std::string& path) override { Note(path, " has an open parent"); }
  void OnTurns(const Sequencer& lease, int64_t turns) override {
    Note(lease.path(), " was taken again ", turns, " times");
  }
  void OnPartitions(const std::string& path, const PartitionsReport& now,
                    const PartitionsReport& before) override {
    Note(path, ": owns ", before.owned, ", now ", now.owned, " of ", now.assigned, "; members ",
         now.members);
  }
  int64_t session() const { return session_; }
  std::vector<std::string> Take() { return std::exchange(notes_, {}); }

 private:
  template <typename... Parts>
  void Note(const Parts&... parts) {
    notes_.push_back(absl::StrCat(parts...));
  }
  std::vector<std::string> notes_;
  int64_t session_ = 0;
};

class EventListenerTest : public LockInMemoryTest {
 protected:
  std::unique_ptr<LockUser> StartTelling(AcquireOptions options = {}) {
    auto user = Start();
    options.listener = diary_;
    user->lock_options = options;
    return user;
  }
  const std::shared_ptr<Diary> diary_ = std::make_shared<Diary>();
};

TEST_F(EventListenerTest, IsToldThatAClosedClientWasNotGranted) {
  auto user = StartTelling();
  internal::ClientAccess::Core(*user->client)
      ->Close(std::make_shared<base::OneShot<absl::Status>>());
  PassTime(absl::Seconds(1));
  Acquire(*user);
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q not granted after 0: FAILED_PRECONDITION"));
}

// Otherwise later news would wait for it for ever, or an acquire of another user throw.
TEST(UserCodeDeathTest, ACallbackThatThrowsEndsTheProcessWhateverItsExecutorCatches) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  class Catches : public Executor {
   public:
    void Execute(absl::AnyInvocable<void() &&> task) override {
      try {
        std::move(task)();
      } catch (const std::runtime_error&) {
        exit(0);
      }
    }
  };
  const auto throws = [](int) { throw std::runtime_error("thrown"); };
  const std::shared_ptr<Executor> executor = std::make_shared<Catches>();
  EXPECT_DEATH(std::make_shared<session::Subscriber<int>>(executor, throws)->Tell(1), "thrown");
  Simulation simulation;
  const auto core = simulation.NewClient(simulation.AddHost(), {.executor = executor});
  const auto refused = [&](const absl::StatusOr<Lease>&) { throws(1); };
  EXPECT_DEATH(Lock(internal::ClientAccess::Wrap(core), "no path").AcquireAsync({}, refused),
               "thrown");
  EXPECT_DEATH(executor->Execute([&] { InlineExecutor()->Execute([&] { throws(1); }); }), "thrown");
}

TEST_F(EventListenerTest, HearsOfAWaitAndOfWhatComesOfIt) {
  auto first = StartHolder();
  std::stop_source leave;
  auto second = StartWaiter({.cancel = leave.get_token()});
  auto user = StartTelling();
  Acquire(*user);
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q queued behind 2: 0000000001"));
  leave.request_stop();
  simulation_.RunUntilIdle();
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q queued behind 1: 0000000000"));
  PassTime(absl::Seconds(5));
  Release(*first);
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q granted after 5s"));
  EXPECT_EQ(diary_->session(), user->client->session_id());
  PassTime(absl::Seconds(2));
  Release(*user);
  EXPECT_THAT(diary_->Take(), ElementsAre("released after 2s"));
}

TEST_F(EventListenerTest, HearsThatThePlaceIsLostAndOfTheNextOne) {
  auto first = StartHolder();
  auto user = StartTelling();
  Acquire(*user);
  auto third = StartWaiter();
  (void)diary_->Take();
  Expire(*user);
  PassTime(absl::Seconds(5));
  EXPECT_THAT(diary_->Take(),
              ElementsAre("/locks/q place lost", "/locks/q queued behind 2: 0000000002"));
}

TEST_F(EventListenerTest, HearsThatALeaseIsSuspectProvenAgainAndLost) {
  auto user = StartTelling();
  Acquire(*user);
  (void)diary_->Take();
  user->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(1));
  EXPECT_THAT(diary_->Take(), ElementsAre("suspect"));
  user->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(4));
  EXPECT_THAT(diary_->Take(), ElementsAre("proven"));
  user->host->set_network(Host::Network::kSilent);  // the connection stands, and nothing comes
  while (user->lease().state() == Lease::State::kHeld) PassTime(absl::Milliseconds(50));
  PassTime(absl::Milliseconds(640));  // a sixteenth of the timeout, in which it is asked
  EXPECT_THAT(diary_->Take(), ElementsAre("suspect"));
  PassTime(absl::Seconds(5));
  EXPECT_THAT(diary_->Take(),
              ElementsAre("lost: its session could not be proven to be alive in time"));
  user->host->set_network(Host::Network::kUp);
  PassTime(absl::Seconds(30));
  EXPECT_THAT(diary_->Take(), IsEmpty()) << "the end is told once";
}

TEST_F(EventListenerTest, HearsThatALeaseEndsSinceItWasHeldTooLong) {
  auto user = StartTelling({.hold_at_most = absl::Seconds(30)});
  Acquire(*user);
  (void)diary_->Take();
  PassTime(absl::Minutes(2));
  EXPECT_THAT(diary_->Take(), ElementsAre("lost: it was held for as long as it may be"));
}

TEST_F(EventListenerTest, HearsThatAClientWasClosed) {
  auto user = StartTelling();
  Acquire(*user);
  (void)diary_->Take();
  user->client.reset();
  simulation_.RunUntilIdle();
  EXPECT_THAT(diary_->Take(), ElementsAre("lost: the client was closed"));
}

TEST_F(EventListenerTest, OfTheClientHearsOfAllItsAcquires) {
  LockUser user;
  memory::Start(simulation_, user, {.listener = diary_});
  Acquire(user);
  Release(user);
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q granted after 0", "released after 0"));
  user.lock_options.listener = diary_;
  Acquire(user);
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q granted after 0", "/locks/q granted after 0"));
}

TEST_F(EventListenerTest, HearsOfAcquiresThatEndWithoutALease) {
  auto first = StartHolder();
  auto user = StartTelling();
  Acquire(*user, {absl::Seconds(3)});
  PassTime(absl::Seconds(3));
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q queued behind 1: 0000000000",
                                          "/locks/q not granted after 3s: DEADLINE_EXCEEDED"));
  std::stop_source leave;
  Acquire(*user, {.cancel = leave.get_token()});
  leave.request_stop();
  simulation_.RunUntilIdle();
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q queued behind 1: 0000000000",
                                          "/locks/q not granted after 0: CANCELLED"));
  queue::call::Async(
      queue::acquire::Enter(internal::PathQueue::Of(*user->client, kPath, user->lock_options),
                            queue::machine::Candidacy{.try_only = true}),
      {}, [](const absl::StatusOr<Lease>&) {});
  simulation_.RunUntilIdle();
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q not granted after 0: ALREADY_EXISTS"));
}

// Its node cannot be deleted yet, and then goes with the session.
TEST_F(EventListenerTest, HearsNothingOfAnAcquireThatHasEndedWithoutALease) {
  auto first = StartHolder();
  auto user = StartTelling();
  Acquire(*user, {absl::Seconds(3)});
  (void)diary_->Take();
  user->host->set_network(Host::Network::kDown);
  PassTime(absl::Seconds(5));
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q not granted after 3s: UNAVAILABLE"));
  PassTime(absl::Minutes(1));
  user->host->set_network(Host::Network::kUp);
  PassTime(absl::Minutes(1));
  EXPECT_THAT(diary_->Take(), IsEmpty());
}

TEST_F(EventListenerTest, HearsThatAnAcquireEndsWithItsClient) {
  auto first = StartHolder();
  auto user = StartTelling();
  Acquire(*user);
  (void)diary_->Take();
  user->client.reset();
  simulation_.RunUntilIdle();
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q not granted after 0: FAILED_PRECONDITION"));
}

class SessionReportTest : public LockInMemoryTest {
 protected:
  void Start(LockUser& user) {
    memory::Start(simulation_, user, {.on_session_report = [this](const SessionReport& report) {
                    reports_.push_back(report);
                  }});
  }
  std::vector<SessionReport> Take() { return std::exchange(reports_, {}); }

 private:
  std::vector<SessionReport> reports_;
};

TEST_F(SessionReportTest, SaysWhatIsLeftOfTheDeadlineWhileALeaseIsHeldAndWhatIsUsed) {
  LockUser user;
  Start(user);
  PassTime(absl::Minutes(1));
  for (const SessionReport& report : Take()) {
    EXPECT_EQ(report.session, user.client->session_id());
    EXPECT_EQ(report.timeout, user.client->session_timeout());
    EXPECT_EQ(report.least_left, std::nullopt) << "nothing is held";
    EXPECT_EQ(report.node_bytes + report.watch_bytes, 0);
  }
  Acquire(user);
  (void)Take();
  PassTime(absl::Minutes(1));
  std::optional<absl::Duration> least;
  for (const SessionReport& report : Take()) {
    EXPECT_GT(report.node_bytes, 0);
    EXPECT_GT(report.watch_bytes, 0);
    if (report.least_left) least = std::min(least.value_or(*report.least_left), *report.least_left);
  }
  ASSERT_TRUE(least.has_value());
  EXPECT_GT(*least, absl::ZeroDuration());
  EXPECT_LT(*least, user.client->session_timeout());
  EXPECT_EQ(Take().size(), 0);
}

class ClosedAclTest : public EventListenerTest {
 protected:
  void SetUp() override {
    EventListenerTest::SetUp();
    memory::Start(
        simulation_, user_,
        {.digest_credentials = {"me:secret"}, .acl = CreatorOnlyAcl(), .listener = diary_});
    ASSERT_TRUE(model().OperatorCreates("/locks", {}, simulation_.now()));
  }
  std::vector<std::string> AcquireAndRelease() {
    Acquire(user_);
    Release(user_);
    return diary_->Take();
  }
  LockUser user_;
};

TEST_F(ClosedAclTest, HearsOnceThatStrangersMayTakeTheLockByTheParentsAcl) {
  ASSERT_TRUE(model().OperatorCreates("/locks/q", {}, simulation_.now()));
  EXPECT_THAT(AcquireAndRelease(), ::testing::Contains("/locks/q has an open parent"));
  EXPECT_THAT(AcquireAndRelease(), ElementsAre("/locks/q granted after 0", "released after 0"));
}

TEST_F(ClosedAclTest, HearsNothingOfAParentThatTheAcquireHasMade) {
  EXPECT_THAT(AcquireAndRelease(), ElementsAre("/locks/q granted after 0", "released after 0"));
}

TEST_F(ClosedAclTest, HearsNothingOfAParentThatLetsStrangersLook) {
  const std::vector<zk::AclEntry> mine = {{kAllPermissions, "digest", DigestId("me:secret")},
                                          {kRead | kCreate, "world", "anyone"}};
  ASSERT_TRUE(model().OperatorCreates("/locks/q", {.acl = mine}, simulation_.now()));
  EXPECT_THAT(AcquireAndRelease(), ElementsAre("/locks/q granted after 0", "released after 0"));
}

class PromptDiary : public Diary {
 public:
  EventListener* AtOnce(const std::string& /*path*/) override { return this; }
};

TEST_F(EventListenerTest, ThatIsToldAtOnceCostsNoTaskEither) {
  const auto executor = std::make_shared<base::StepExecutor>();
  const auto prompt = std::make_shared<PromptDiary>();
  LockUser user;
  memory::Start(simulation_, user, {.executor = executor, .listener = prompt});
  user.Acquire();
  simulation_.RunUntilIdle();
  EXPECT_EQ(executor->given(), 1) << "the answer";
  EXPECT_THAT(prompt->Take(), ElementsAre("/locks/q granted after 0"));
  executor->RunAll();
  user.host->set_network(Host::Network::kDown);
  PassTime(absl::Minutes(1));
  EXPECT_THAT(prompt->Take(),
              ElementsAre("suspect", "lost: its session could not be proven to be alive in time"));
}

// Of one path at once, of the others on the executor.
class DiaryWithAnother : public Diary {
 public:
  EventListener* AtOnce(const std::string& path) override {
    return path == "/locks/q" ? &of_q_ : nullptr;
  }
  Diary& of_q() { return of_q_; }

 private:
  Diary of_q_;
};

TEST_F(EventListenerTest, MayKeepAnotherForSomePaths) {
  const auto both = std::make_shared<DiaryWithAnother>();
  LockUser user;
  memory::Start(simulation_, user, {.listener = both});
  Acquire(user);
  Release(user);
  EXPECT_THAT(both->of_q().Take(), ElementsAre("/locks/q granted after 0", "released after 0"));
  EXPECT_THAT(both->Take(), IsEmpty());
  const Lock other(user.client, "/locks/r");
  other.AcquireAsync({}, [](absl::StatusOr<Lease> lease) { EXPECT_TRUE(lease.ok()); });
  simulation_.RunUntilIdle();
  EXPECT_THAT(both->Take(), ElementsAre("/locks/r granted after 0", "released after 0"));
  EXPECT_THAT(both->of_q().Take(), IsEmpty());
}

TEST_F(EventListenerTest, BesideOneThatIsToldAtOnceHearsTheSame) {
  const auto prompt = std::make_shared<PromptDiary>();
  LockUser user;
  memory::Start(simulation_, user, {.listener = prompt});
  user.lock_options.listener = diary_;
  Acquire(user);
  PassTime(absl::Seconds(2));
  Release(user);
  EXPECT_THAT(diary_->Take(), ElementsAre("/locks/q granted after 0", "released after 2s"));
  EXPECT_THAT(prompt->Take(), ElementsAre("/locks/q granted after 0", "released after 2s"));
}

// What it said of partitions last, and that it said as much of their locks.
std::string LastOfPartitions(Diary& diary) {
  std::string last;
  int granted = 0, released = 0;
  for (const std::string& note : diary.Take()) {
    if (absl::StartsWith(note, "/s: ")) last = note;
    granted += absl::StrContains(note, "/s/partitions/") && absl::StrContains(note, " granted ");
    released += absl::StartsWith(note, "released");
  }
  return absl::StrCat(last, "; granted ", granted, ", released ", released);
}

TEST_F(EventListenerTest, HearsWhatAMemberOfPartitionsKnows) {
  const auto prompt = std::make_shared<PromptDiary>();
  LockUser user;
  memory::Start(simulation_, user, {.listener = prompt});
  std::vector<OwnedPartition> owned;
  auto running = Partitions(user.client, "/s", 3, {.id = "web-1", .acquire = {.listener = diary_}})
                     .Start({.on_gained = [&owned](OwnedPartition partition) {
                       owned.push_back(std::move(partition));
                     }});
  ASSERT_TRUE(running.ok()) << running.status();
  PassTime(absl::Seconds(10));
  for (Diary* const diary : {diary_.get(), static_cast<Diary*>(prompt.get())}) {
    EXPECT_EQ(LastOfPartitions(*diary), "/s: owns 2, now 3 of 3; members 1; granted 3, released 0");
  }
  owned.clear();
  { const Partitions::Running dropped = *std::move(running); }
  PassTime(absl::Minutes(1));
  for (Diary* const diary : {diary_.get(), static_cast<Diary*>(prompt.get())}) {
    EXPECT_THAT(LastOfPartitions(*diary), ::testing::EndsWith("now 0 of 0; members 0; granted 0, "
                                                              "released 4"));
  }
}

// Nothing is computed, posted or armed for it.
TEST_F(EventListenerTest, CostsNoTaskWhenThereIsNone) {
  const auto executor = std::make_shared<base::StepExecutor>();
  LockUser user;
  memory::Start(simulation_, user, {.executor = executor});
  user.Acquire();
  simulation_.RunUntilIdle();
  EXPECT_EQ(executor->given(), 1) << "the answer";
  executor->RunAll();
  PassTime(absl::Minutes(1));
  user.result.reset();
  simulation_.RunUntilIdle();
  EXPECT_EQ(executor->given(), 1);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
