// SPDX-License-Identifier: Apache-2.0

#include "lib/session/client/client_core.h"

#include <atomic>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/zk/loop/loop.h"

namespace zkrecipes::internal {
namespace {

// Runs a task when it is told to.
class StepReactor : public zk::Reactor {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  TimerId CallAt(base::BootTime, Task) override { return 1; }
  void Cancel(TimerId) override {}
  base::BootTime Now() override { return base::BootTime(); }
  uint64_t Random() override { return 0; }
  bool RunNext() {
    if (tasks_.empty()) return false;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    std::move(task)();
    return true;
  }

 private:
  std::deque<Task> tasks_;
};

class NoAnswer : public zk::loop::Resolver {
 public:
  void Resolve(const std::vector<zk::ServerAddress>&, Each) override {}
};

std::shared_ptr<ClientCore> NewCore(std::shared_ptr<zk::Reactor> reactor,
                                    absl::AnyInvocable<void() &&> stop) {
  auto core = ClientCore::CreateIn(
      Environment{std::move(reactor), nullptr, std::make_shared<NoAnswer>(), std::move(stop)}, {},
      {});
  core->Start([](const absl::Status&) {});
  return core;
}

// Tasks hold the client, which holds the reactor.
void End(const std::shared_ptr<ClientCore>& core, StepReactor& reactor) {
  core->Close(std::make_shared<base::OneShot<absl::Status>>());
  while (reactor.RunNext()) {
  }
}

TEST(ClientCore, RunsTasksInTheOrderOfPostingAlsoAroundItsEnd) {
  const auto reactor = std::make_shared<StepReactor>();
  const auto core = NewCore(reactor, [] {});
  std::vector<int> ran;
  int posted = 0;
  const auto post = [&] {
    core->Post([&ran, number = posted++](session::Session*) { ran.push_back(number); });
  };
  post();
  core->Close(std::make_shared<base::OneShot<absl::Status>>());
  for (int i = 0; i < 30; ++i) {
    post();
    reactor->RunNext();
  }
  while (reactor->RunNext()) {
  }
  post();  // inline
  std::vector<int> all(static_cast<size_t>(posted));
  for (int i = 0; i < posted; ++i) all[static_cast<size_t>(i)] = i;
  EXPECT_EQ(ran, all);
}

TEST(ClientCore, ATaskThatIsPostedByALateOneComesAfterIt) {
  const auto reactor = std::make_shared<StepReactor>();
  const auto core = NewCore(reactor, [] {});
  End(core, *reactor);
  std::vector<int> ran;
  core->Post([&](session::Session* session) {
    EXPECT_EQ(session, nullptr);
    core->Post([&](session::Session*) { ran.push_back(2); });
    ran.push_back(1);
  });
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

// Tasks that ran at once, or one unseen by the next, would be a race for `ran`: for
// ThreadSanitizer.
TEST(ClientCore, NeverRunsTwoTasksAtOnceWhileItCloses) {
  constexpr int kRounds = 300;
  constexpr auto kSoon = absl::Seconds(20);
  for (int round = 0; round < kRounds; ++round) {
    auto loop = internal::Loop::Start();
    ASSERT_TRUE(loop.ok()) << loop.status();
    const auto core = NewCore(*loop, [loop = *loop] { loop->Stop(); });
    int ran = 0;
    std::atomic<bool> inside = false;
    std::atomic<int> posted = 0;
    const auto post_and_wait = [&] {
      ++posted;
      std::latch done(2);
      for (int i = 0; i < 2; ++i) {
        core->Post([&](session::Session*) {
          EXPECT_FALSE(inside.exchange(true, std::memory_order_relaxed));
          ++ran;
          inside.store(false, std::memory_order_relaxed);
          done.count_down();
        });
      }
      done.wait();
    };
    auto closed = std::make_shared<base::OneShot<absl::Status>>();
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&](const std::stop_token& end) {
          while (!end.stop_requested()) post_and_wait();
        });
      }
      core->Close(closed);
      ASSERT_TRUE(core->Await(*closed, core->Now() + kSoon).has_value());
    }
    EXPECT_EQ(ran, 2 * posted);
  }
}

// ---- a thread that waits runs the loop itself ---------------------------------------------------

struct OwnLoop {
  explicit OwnLoop(std::shared_ptr<Executor> executor = nullptr) {
    ClientOptions options;
    options.executor = std::move(executor);
    Environment environment{loop, loop, std::make_shared<NoAnswer>(),
                            [loop = loop] { loop->Stop(); }};
    environment.loop = loop;
    core = ClientCore::CreateIn(std::move(environment), std::move(options), {});
    core->Start([](const absl::Status&) {});
  }
  ~OwnLoop() {
    auto closed = std::make_shared<base::OneShot<absl::Status>>();
    core->Close(closed);
    core->Await(*closed, base::BootTime::InfiniteFuture());
  }
  // Asks until the loop's thread was not in the middle of a round; returns the thread that
  // answered.
  std::thread::id Ask(const std::function<void()>& in_the_task = [] {}) {
    auto answer = std::make_shared<base::OneShot<std::thread::id>>();
    ClientCore::Drive drive(*core);
    core->Post([&in_the_task, answer](session::Session*) {
      in_the_task();
      answer->Set(std::this_thread::get_id());
    });
    return *drive.Await(*answer, base::BootTime::InfiniteFuture());
  }
  void AskUntilItIsMine(const std::function<void()>& in_the_task = [] {}) {
    while (Ask(in_the_task) != std::this_thread::get_id()) std::this_thread::yield();
  }

  std::shared_ptr<internal::Loop> loop = *internal::Loop::Start();
  std::shared_ptr<ClientCore> core;
};

TEST(ClientCoreDrive, AnswersOnTheThreadThatWaits) {
  OwnLoop own;
  own.AskUntilItIsMine();
  EXPECT_FALSE(own.core->OnReactor());
}

TEST(ClientCoreDrive, ForbidsToBlockInsideTheLoopOnThatThreadToo) {
  OwnLoop own;
  absl::Status inside;
  own.AskUntilItIsMine([&] { inside = own.core->CheckMayBlock(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(inside)) << inside;
  EXPECT_TRUE(own.core->CheckMayBlock().ok());
}

TEST(ClientCoreDrive, LeavesTheLoopAloneIfCallbacksMayRunThere) {
  OwnLoop own(InlineExecutor());
  for (int i = 0; i < 20; ++i) EXPECT_NE(own.Ask(), std::this_thread::get_id());
}

TEST(ClientCoreDrive, WaitsNoLongerThanUntilItsDeadline) {
  OwnLoop own;
  base::OneShot<int> never;
  const base::BootTime deadline = own.core->Now() + absl::Milliseconds(10);
  EXPECT_FALSE(ClientCore::Drive(*own.core).Await(never, deadline).has_value());
  EXPECT_GE(own.core->Now(), deadline);
}

TEST(ClientCoreDrive, EndsWhenItIsCancelledOrAnotherThreadAnswers) {
  OwnLoop own;
  for (int i = 0; i < 200; ++i) {
    base::OneShot<int> shot;
    std::stop_source cancel;
    ClientCore::Drive drive(*own.core);
    std::jthread other([&] { i % 2 == 0 ? (void)cancel.request_stop() : (void)shot.Set(7); });
    const auto got = drive.Await(shot, base::BootTime::InfiniteFuture(), cancel.get_token());
    EXPECT_EQ(got.has_value(), i % 2 == 1);
  }
}

}  // namespace
}  // namespace zkrecipes::internal
