// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/loop/loop.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/zk/c_client/handle_test_fixture.h"
#include "lib/zk/c_client/scripted_server_fixture.h"
#include "lib/zk/wire/jute_reader.h"
#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::loop {
namespace {

class LoopTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loop = internal::Loop::Start();
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
  }
  void TearDown() override { loop_->Stop(); }

  // Runs `task` on the loop; returns what it returns.
  template <typename F>
  auto OnLoop(F task) -> decltype(task()) {
    auto ran = std::make_shared<std::packaged_task<decltype(task())()>>(std::move(task));
    loop_->Post([ran] { (*ran)(); });
    return ran->get_future().get();
  }

  // The loop's thread may be in the middle of a round, for a moment.
  void TakeOver() {
    while (!loop_->TakeOver()) std::this_thread::yield();
  }
  // REQUIRES: the turn. Asks the loop, and runs it until it has answered.
  std::thread::id Ask() {
    std::thread::id answer;
    loop_->Post([&answer] { answer = std::this_thread::get_id(); });
    const auto answered = [&answer] { return answer != std::thread::id(); };
    loop_->RunUntil(answered, base::BootTime::InfiniteFuture());
    return answer;
  }

  std::shared_ptr<internal::Loop> loop_;
};

TEST_F(LoopTest, RunsTasksInTheOrderOfPostingOnAThreadOfItsOwn) {
  std::string order;
  for (const char name : std::string("abc")) {
    loop_->Post([&order, name] { order += name; });
  }
  EXPECT_NE(OnLoop([] { return std::this_thread::get_id(); }), std::this_thread::get_id());
  EXPECT_EQ(order, "abc");
}

TEST_F(LoopTest, NeverRunsATaskInline) {
  std::string order;
  OnLoop([this, &order] {
    loop_->Post([&order] { order += "posted"; });
    order += "task ";
  });
  OnLoop([] {});
  EXPECT_EQ(order, "task posted");
}

TEST_F(LoopTest, TakesTasksFromManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 1000;
  int ran = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, &ran] {
      for (int i = 0; i < kEach; ++i) loop_->Post([&ran] { ++ran; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(OnLoop([&ran] { return ran; }), kThreads * kEach);
}

TEST_F(LoopTest, RunsATimerNotBeforeItsTime) {
  auto fired = std::make_shared<std::promise<base::BootTime>>();
  const base::BootTime when = base::BootNow() + absl::Milliseconds(20);
  OnLoop([&] { loop_->CallAt(when, [this, fired] { fired->set_value(loop_->Now()); }); });
  EXPECT_GE(fired->get_future().get(), when);
}

TEST_F(LoopTest, RunsATimerOfThePastSoonButNotInline) {
  std::string order;
  auto fired = std::make_shared<std::promise<void>>();
  OnLoop([&] {
    loop_->CallAt(base::BootTime(), [&order, fired] {
      order += "timer";
      fired->set_value();
    });
    order += "task ";
  });
  fired->get_future().wait();
  EXPECT_EQ(order, "task timer");
}

TEST_F(LoopTest, RunsTasksBesideATimerThatAlwaysComesAgain) {
  auto again = std::make_shared<std::function<void()>>();
  *again = [this, weak = std::weak_ptr(again)] {
    if (auto self = weak.lock()) loop_->CallAt(base::BootTime(), [self] { (*self)(); });
  };
  OnLoop([again] { (*again)(); });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(OnLoop([i] { return i; }), i);
  OnLoop([again] { *again = [] {}; });
}

TEST_F(LoopTest, RunsWhatWasPostedBeforeItWasStoppedAndDestroysTheRest) {
  auto ran = std::make_shared<std::promise<void>>();
  std::future<void> after;
  loop_->Post([ran] { ran->set_value(); });
  loop_->Stop();
  {
    std::promise<void> never_kept;
    after = never_kept.get_future();
    loop_->Post([promise = std::move(never_kept)]() mutable { promise.set_value(); });
  }
  ran->get_future().wait();
  EXPECT_THROW(after.get(), std::future_error) << "destroyed unrun";
}

TEST_F(LoopTest, IsNotTheThreadThatGetsItsThreadsNumberNext) {
  auto over = std::make_shared<std::promise<void>>();
  std::future<void> ended = over->get_future();
  const std::thread::id number = OnLoop([this, over = std::move(over)]() mutable {
    loop_->CallAt(base::BootNow() + absl::Hours(1), [over = std::move(over)] {});
    return std::this_thread::get_id();
  });
  loop_->Stop();
  ended.wait();  // the thread destroys its timers, and ends
  bool same = false;
  for (int i = 0; i < 1000 && !same; ++i) {
    std::thread([&] {
      same = std::this_thread::get_id() == number;
      EXPECT_FALSE(loop_->OnThread());
    }).join();
  }
}

TEST_F(LoopTest, DestroysItsTimersWhenItEnds) {
  auto held = std::make_shared<std::promise<void>>();
  std::future<void> destroyed = held->get_future();
  OnLoop([this, held = std::move(held)]() mutable {
    loop_->CallAt(base::BootNow() + absl::Hours(1), [held = std::move(held)] {});
  });
  loop_->Stop();
  EXPECT_THROW(destroyed.get(), std::future_error);
}

// ---- when poll fails --------------------------------------------------------------------------

// The process may have fewer descriptors by now than poll is asked about (EINVAL).
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t count) {
    getrlimit(RLIMIT_NOFILE, &before_);
    Set({count, before_.rlim_max});
  }
  ~FewDescriptors() { Set(before_); }

 private:
  static void Set(const rlimit& limit) { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0); }
  rlimit before_{};
};

TEST_F(LoopTest, DoesNotSpinWhenPollFails) {
  const auto sleeps = [] {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
  };
  for (const rlim_t limit : {2, 0}) {
    const FewDescriptors few(limit);
    const long before = OnLoop(sleeps);
    auto later = std::make_shared<std::promise<void>>();
    OnLoop([&] {
      loop_->CallAt(loop_->Now() + absl::Milliseconds(200), [later] { later->set_value(); });
    });
    later->get_future().wait();
    EXPECT_GE(OnLoop(sleeps) - before, 5) << limit;
  }
}

TEST_F(LoopTest, HearsAnswersThoughPollFails) {
  c_client::ScriptedServer server([](int number, const std::string& frame) {
    return wire::Frame(number == 0 ? wire::Welcome(77, 3'600'000)
                                   : wire::Reply(wire::JuteReader(frame).Int(), wire::Names({})));
  });
  HandleOptions options;
  options.servers = {server.address()};
  options.session_timeout = absl::Hours(1);  // no ping wakes the loop meanwhile
  c_client::Diary diary;
  auto handle = OnLoop([&] { return loop_->Open(options, &diary); });
  ASSERT_TRUE(handle.ok()) << handle.status();
  while (OnLoop([&] { return diary.connected; }) == 0) server.Step();
  for (const rlim_t limit : {3, 1, 0}) {
    const FewDescriptors few(limit);
    std::atomic<bool> answered = false;
    OnLoop([&] {
      (*handle)->Send(GetChildren{"/"},
                      [&](const Reply& reply) { answered = reply.code == Code::kOk; });
    });
    const base::BootTime deadline = base::BootNow() + absl::Seconds(20);
    while (!answered && base::BootNow() < deadline) server.Step();
    EXPECT_TRUE(answered) << limit;
  }
  OnLoop([&] { handle->reset(); });
}

std::set<int> OpenDescriptors() {
  std::set<int> open;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    open.insert(std::stoi(one.path().filename()));
  }
  return open;
}

// In the 200 ms after this process has closed all descriptors that it did not have before: how
// often the loop's thread went to sleep. Its own turn, or a caller's.
long SleepsWithoutDescriptors(bool drives) {
  const std::set<int> before = OpenDescriptors();
  const auto loop = *internal::Loop::Start();
  const auto on_loop = [&loop](std::function<void()> task) {
    auto ran = std::make_shared<std::packaged_task<void()>>(std::move(task));
    loop->Post([ran] { (*ran)(); });
    ran->get_future().wait();
  };
  const auto sleeps = [] {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
  };
  long first = 0, last = 0;
  on_loop([&] {
    for (const int fd : OpenDescriptors()) {
      if (!before.contains(fd)) close(fd);
    }
    first = sleeps();
  });
  if (drives) {
    while (!loop->TakeOver()) std::this_thread::yield();
    loop->RunUntil([] { return false; }, loop->Now() + absl::Milliseconds(200));
    loop->GiveBack();
  } else {
    auto later = std::make_shared<std::promise<void>>();
    on_loop([&] {
      loop->CallAt(loop->Now() + absl::Milliseconds(200), [later] { later->set_value(); });
    });
    later->get_future().wait();
  }
  on_loop([&] { last = sleeps(); });
  return last - first;
}

TEST(LoopDeathTest, DescriptorsThatTheProgramHasClosedAreToldOfAndDoNotMakeItSpin) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const bool drives : {false, true}) {
    EXPECT_EXIT(_exit(SleepsWithoutDescriptors(drives) >= 5 ? 0 : 1), testing::ExitedWithCode(0),
                "zkrecipes: this program has closed a descriptor that is not its own")
        << drives;
  }
}

// ---- a caller's turn --------------------------------------------------------------------------

TEST_F(LoopTest, IsRunByACallerThatTakesItOverUntilItGivesItBack) {
  const std::thread::id me = std::this_thread::get_id();
  for (int i = 0; i < 100; ++i) {
    TakeOver();
    EXPECT_TRUE(loop_->OnThread());
    EXPECT_EQ(Ask(), me);
    loop_->GiveBack();
    EXPECT_FALSE(loop_->OnThread());
    if (i % 3 == 0) {
      EXPECT_NE(OnLoop([] { return std::this_thread::get_id(); }), me);
    }
  }
}

TEST_F(LoopTest, GoesOnByItselfWithWhatACallerLeavesBehind) {
  const std::thread::id me = std::this_thread::get_id();
  auto task = std::make_shared<std::promise<std::thread::id>>();
  auto timer = std::make_shared<std::promise<std::thread::id>>();
  TakeOver();
  EXPECT_EQ(Ask(), me);
  loop_->CallAt(loop_->Now() + absl::Milliseconds(20),
                [timer] { timer->set_value(std::this_thread::get_id()); });
  loop_->Post([task] { task->set_value(std::this_thread::get_id()); });
  loop_->GiveBack();
  EXPECT_NE(task->get_future().get(), me);
  EXPECT_NE(timer->get_future().get(), me);
}

// The loop's thread is left in poll when the turn goes: what woke it must not keep it awake.
TEST_F(LoopTest, SleepsAgainWhenTheTurnHasComeBack) {
  clockid_t used;
  OnLoop([&used] { return pthread_getcpuclockid(pthread_self(), &used); });
  const auto processor_time = [&used] {
    timespec time{};
    clock_gettime(used, &time);
    return absl::DurationFromTimespec(time);
  };
  for (int i = 0; i < 100; ++i) {
    TakeOver();
    Ask();
    loop_->GiveBack();
    if (i % 3 == 0) OnLoop([] {});
  }
  auto later = std::make_shared<std::promise<void>>();
  OnLoop([&] {
    loop_->CallAt(loop_->Now() + absl::Milliseconds(100), [later] { later->set_value(); });
  });
  const absl::Duration before = processor_time();
  later->get_future().wait();
  EXPECT_LT(processor_time() - before, absl::Milliseconds(20));
}

TEST_F(LoopTest, RunsTimersAndOthersTasksDuringACallersTurn) {
  TakeOver();
  int ran = 0;
  loop_->CallAt(loop_->Now() + absl::Milliseconds(5), [&ran] { ++ran; });
  std::thread other([this, &ran] { loop_->Post([&ran] { ++ran; }); });
  loop_->RunUntil([&ran] { return ran == 2; }, base::BootTime::InfiniteFuture());
  EXPECT_EQ(ran, 2);
  loop_->GiveBack();
  other.join();
}

TEST_F(LoopTest, HasOneCallerAtATime) {
  TakeOver();
  bool second = true;
  std::thread([this, &second] { second = loop_->TakeOver(); }).join();
  EXPECT_FALSE(second);
  loop_->GiveBack();
}

TEST_F(LoopTest, IsNotTakenOverInTheMiddleOfATask) {
  auto begun = std::make_shared<std::promise<void>>();
  std::promise<void> go_on;
  loop_->Post([begun, end = go_on.get_future()]() mutable {
    begun->set_value();
    end.wait();
  });
  begun->get_future().wait();
  EXPECT_FALSE(loop_->TakeOver()) << "at once, however long the task takes";
  go_on.set_value();
}

TEST_F(LoopTest, EndsACallersTurnAtItsDeadline) {
  TakeOver();
  const base::BootTime deadline = loop_->Now() + absl::Milliseconds(10);
  loop_->RunUntil([] { return false; }, deadline);
  EXPECT_GE(loop_->Now(), deadline);
  loop_->GiveBack();
}

TEST_F(LoopTest, EndsThoughACallerHasTheTurn) {
  TakeOver();
  auto held = std::make_shared<std::promise<void>>();
  std::future<void> destroyed = held->get_future();
  loop_->CallAt(loop_->Now() + absl::Hours(1), [held = std::move(held)] {});
  std::thread other([this] { loop_->Stop(); });
  loop_->RunUntil([] { return false; }, base::BootTime::InfiniteFuture());
  loop_->GiveBack();
  other.join();
  EXPECT_FALSE(loop_->TakeOver());
  EXPECT_THROW(destroyed.get(), std::future_error) << "by its own thread";
}

TEST_F(LoopTest, RunsEveryTaskOnceAndAloneHoweverTheTurnMoves) {
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  int ran = 0;  // no lock: tasks run one after another
  std::atomic<int> turns = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, &ran, &turns] {
      for (int i = 0; i < kEach; ++i) {
        auto done = std::make_shared<std::promise<void>>();
        const bool mine = loop_->TakeOver();
        auto over = std::make_shared<bool>(false);
        loop_->Post([&ran, done, over] {
          ++ran;
          *over = true;
          done->set_value();
        });
        if (mine) {
          ++turns;
          loop_->RunUntil([&over] { return *over; }, base::BootTime::InfiniteFuture());
          loop_->GiveBack();
        }
        done->get_future().wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(OnLoop([&ran] { return ran; }), kThreads * kEach);
  EXPECT_GT(turns.load(), 0);
}

// -----------------------------------------------------------------------------------------------

TEST_F(LoopTest, LeavesSignalsToTheProgramsOwnThreads) {
  const bool blocked = OnLoop([] {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, nullptr, &set);
    return sigismember(&set, SIGTERM) == 1 && sigismember(&set, SIGUSR1) == 1;
  });
  EXPECT_TRUE(blocked);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGTERM), 0);
}

TEST_F(LoopTest, IsOnlyLeakedInAForkedChild) {
  bool ran = false;
  const pid_t child = fork();
  if (child == 0) {
    loop_->Post([&ran] { ran = true; });
    loop_->Stop();
    loop_.reset();
    _exit(ran ? 1 : 0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(OnLoop([] { return 7; }), 7) << "the parent's loop goes on";
}

TEST(LoopDeathTest, ATaskThatThrowsEndsTheProcessOnWhicheverThreadItRuns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](bool drives) {
    const auto loop = *internal::Loop::Start();
    while (drives && !loop->TakeOver()) {
    }
    loop->Post([] { throw std::runtime_error("thrown"); });
    try {
      if (drives) loop->RunUntil([] { return false; }, base::BootTime::InfiniteFuture());
    } catch (const std::runtime_error&) {
      _exit(0);
    }
    pause();
  };
  EXPECT_DEATH(run(/*drives=*/true), "thrown");
  EXPECT_DEATH(run(/*drives=*/false), "thrown");
}

}  // namespace
}  // namespace zkrecipes::zk::loop
