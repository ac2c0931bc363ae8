// SPDX-License-Identifier: Apache-2.0
//
// When the kernel refuses, and when descriptors are gone.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "lib/zk/c_client/handle_test_fixture.h"
#include "lib/zk/c_client/scripted_server_fixture.h"
#include "lib/zk/loop/loop_fixture.h"
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

TEST_F(LoopTest, HearsAnswersThoughTheProcessMayHaveFewDescriptors) {
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

// But the one by which this reads their numbers.
std::set<int> OpenDescriptors() {
  std::set<int> open;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    open.insert(std::stoi(one.path().filename()));
  }
  std::erase_if(open, [](int fd) { return fcntl(fd, F_GETFD) < 0; });
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
      // Not by close, for which ThreadSanitizer would report the race that it is.
      if (!before.contains(fd)) syscall(SYS_close, fd);
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

}  // namespace
}  // namespace zkrecipes::zk::loop
