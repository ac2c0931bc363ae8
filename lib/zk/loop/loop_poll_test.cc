// SPDX-License-Identifier: Apache-2.0
//
// When the kernel refuses, and when descriptors are gone.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/zk/c_client/handle_test_fixture.h"
#include "lib/zk/c_client/scripted_server_fixture.h"
#include "lib/zk/loop/loop_fixture.h"
#include "lib/zk/loop/pollable_fixture.h"
#include "lib/zk/wire/jute_reader.h"
#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::loop {
namespace {

// The process may have fewer descriptors by now than it has (poll fails with EINVAL).
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

// Whether a thread sleeps or spins, however slow the machine is. Made and asked on that thread.
class SleepOrSpin {
 public:
  bool decided() const { return sleeps() || Used() - before_.used > absl::Milliseconds(500); }
  bool sleeps() const { return Sleeps() - before_.sleeps >= 5; }

 private:
  static rusage Usage() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
  }
  static long Sleeps() { return Usage().ru_nvcsw; }
  static absl::Duration Used() {
    const rusage usage = Usage();
    return absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
  }

  struct {
    long sleeps = Sleeps();
    absl::Duration used = Used();
  } before_;
};

TEST_F(LoopTest, DoesNotSpinWhenThereIsNeitherASetNorAPollForADescriptor) {
  const base::UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));  // no epoll has a file
  FakePollable one(file.get());
  OnLoop([&] { loop_->Add(&one); });
  while (OnLoop([&] { return one.drained; }) == 0) {
  }
  const FewDescriptors few(0);
  std::promise<bool> sleeps;
  std::optional<SleepOrSpin> thread;
  bool told = false;
  OnLoop([&] {
    one.on_drain = [&] {
      if (!thread.has_value()) thread.emplace();
      if (thread->decided() && !std::exchange(told, true)) sleeps.set_value(thread->sleeps());
    };
  });
  EXPECT_TRUE(sleeps.get_future().get());
  OnLoop([&] { loop_->Remove(&one); });
}

TEST_F(LoopTest, HearsAnswersThoughTheProcessMayHaveFewDescriptors) {
  c_client::ScriptedServer server([](int number, const std::string& frame) {
    return wire::Frame(number == 0 ? wire::Welcome(77, 3'600'000)
                                   : wire::Reply(wire::JuteReader(frame).Int(), wire::Names({})));
  });
  HandleOptions options;
  options.servers = NumericServers{server.address()};
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

// But the one by which this reads their numbers.
std::set<int> OpenDescriptors() {
  std::set<int> open;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    open.insert(std::stoi(one.path().filename()));
  }
  std::erase_if(open, [](int fd) { return fcntl(fd, F_GETFD) < 0; });
  return open;
}

// Not by close, for which ThreadSanitizer would report the race that it is. "": all kinds.
void Close(const std::set<int>& descriptors, const std::string& kind) {
  for (const int fd : descriptors) {
    const auto link = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd));
    if (kind.empty() || link == "anon_inode:[" + kind + "]") syscall(SYS_close, fd);
  }
}

std::set<int> OpenDescriptorsBut(const std::set<int>& before) {
  std::set<int> open = OpenDescriptors();
  std::erase_if(open, [&](int fd) { return before.contains(fd); });
  return open;
}

// Whether a thread that runs the loop sleeps now and then, once this process has closed the loop's
// descriptors, or those of a kind: its own thread, or a caller's.
bool SleepsWithoutDescriptors(const std::string& kind, bool drives) {
  const std::set<int> before = OpenDescriptors();
  const auto loop = *internal::Loop::Start();
  std::promise<void> closed;
  loop->Post([&] {
    Close(OpenDescriptorsBut(before), kind);
    closed.set_value();
  });
  closed.get_future().wait();
  if (drives) {
    while (!loop->TakeOver()) std::this_thread::yield();
    const SleepOrSpin thread;
    loop->RunUntil([&] { return thread.decided(); }, base::BootTime::InfiniteFuture());
    loop->GiveBack();
    return thread.sleeps();
  }
  std::promise<bool> sleeps;
  std::optional<SleepOrSpin> thread;
  std::function<void()> look = [&] {
    if (thread->decided()) return sleeps.set_value(thread->sleeps());
    loop->CallAt(loop->Now() + absl::Milliseconds(20), look);
  };
  loop->Post([&] {
    thread.emplace();
    look();
  });
  std::future<bool> verdict = sleeps.get_future();
  // One of these finds the loop asleep.
  while (verdict.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
    loop->Post([] {});
  }
  return verdict.get();
}

TEST(LoopDeathTest, DescriptorsThatTheProgramHasClosedAreToldOfAndDoNotMakeItSpin) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto sleeps = [](const std::string& kind, bool drives) {
    EXPECT_EXIT(_exit(SleepsWithoutDescriptors(kind, drives) ? 0 : 1), testing::ExitedWithCode(0),
                "zkrecipes: this program has closed a descriptor that is not its own")
        << kind << drives;
  };
  sleeps("", /*drives=*/true);
  for (const char* kind : {"", "eventpoll", "timerfd", "eventfd"}) sleeps(kind, false);
}

// A loop whose descriptors of one kind are closed while a thread sleeps on them: the loop's own, or
// a caller with a deadline.
class Disturbed {
 public:
  Disturbed(const std::string& kind, bool drives) : kind_(kind) {
    const std::set<int> before = OpenDescriptors();
    loop_ = *internal::Loop::Start();
    descriptors_ = OpenDescriptorsBut(before);
    loop_->Post([this, drives] {
      // A loop without its eventfd is not to hear of a task since a timer has woken it.
      const absl::Duration when = kind_ == "eventfd" ? absl::ZeroDuration() : kSoon;
      loop_->CallAt(loop_->Now() + when, [this] { timer_.set_value(); });
      if (!drives) sleeper_ = gettid();
    });
    if (drives) std::thread([this] { Drive(); }).detach();
    if (!drives) over_.set_value();
  }

  void CloseInItsSleep() {
    while (sleeper_ == 0 || !Sleeps(sleeper_)) std::this_thread::yield();
    Close(descriptors_, kind_);
    closed_ = true;
    loop_->Post([this] { task_.set_value(); });
  }
  bool GoesOn() {
    for (std::promise<void>* what : {&task_, &timer_, &over_}) {
      if (what->get_future().wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
        return false;
      }
    }
    return true;
  }

 private:
  static constexpr absl::Duration kSoon = absl::Milliseconds(500);

  void Drive() {
    while (!loop_->TakeOver()) std::this_thread::yield();
    sleeper_ = gettid();
    do {
      loop_->RunUntil([] { return false; }, loop_->Now() + kSoon);
    } while (!closed_);
    loop_->GiveBack();
    over_.set_value();
  }

  const std::string kind_;
  std::set<int> descriptors_;
  std::shared_ptr<internal::Loop> loop_;
  std::atomic<pid_t> sleeper_ = 0;
  std::atomic<bool> closed_ = false;  // in its sleep
  std::promise<void> task_, timer_, over_;
};

TEST(LoopDeathTest, GoesOnThoughDescriptorsAreClosedOnWhichAThreadSleeps) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto exit_with_how_many_hang = [] {
    std::vector<std::unique_ptr<Disturbed>> loops;
    for (const char* kind : {"", "eventpoll", "timerfd", "eventfd"}) {
      for (const bool drives : {false, true}) {
        loops.push_back(std::make_unique<Disturbed>(kind, drives));
      }
    }
    for (auto& loop : loops) loop->CloseInItsSleep();
    int hang = 0;
    for (auto& loop : loops) hang += loop->GoesOn() ? 0 : 1;
    _exit(hang);
  };
  EXPECT_EXIT(exit_with_how_many_hang(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace zkrecipes::zk::loop
