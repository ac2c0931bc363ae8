// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/result.h"

#include <pty.h>
#include <unistd.h>

#include <cerrno>
#include <stop_token>
#include <string>
#include <thread>

#include "gtest/gtest.h"

#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/stream_fixture.h"

namespace zkrecipes::zkr {
namespace {

// As behind a pager that was stopped, or on a screen at which Ctrl-S was typed.
TEST(Write, ThatIsCancelledEndsOnATerminalThatIsNotRead) {
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  const base::UniqueFd reader(master), writer(slave);
  ASSERT_EQ(write(slave, "odd", 3), 3);  // so that the last piece has room for a part of it
  std::stop_source cancel;
  int error = 0;
  alarm(60);  // seconds, for a write that waits
  {
    const supervisor::StreamIs out(STDOUT_FILENO, writer);
    const std::jthread thread(
        [&] { error = Write(std::string(1 << 20, '.') + "\n", cancel.get_token()); });
    cancel.request_stop();
  }
  alarm(0);
  EXPECT_EQ(error, ECANCELED);
}

}  // namespace
}  // namespace zkrecipes::zkr
