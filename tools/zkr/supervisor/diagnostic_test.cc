// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/diagnostic.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "gmock/gmock.h"

#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using base::UniqueFd;
using ::testing::HasSubstr;
using ::testing::Not;

// While it lives, `stderr_end` is this process's stderr.
class StderrIs {
 public:
  explicit StderrIs(const UniqueFd& stderr_end) : before_(dup(STDERR_FILENO)) {
    dup2(stderr_end.get(), STDERR_FILENO);
  }
  ~StderrIs() { dup2(before_.get(), STDERR_FILENO); }

 private:
  UniqueFd before_;
};

std::string ReadAll(const UniqueFd& fd) {
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  std::string text;
  char bytes[4096];
  for (ssize_t got = 0; (got = read(fd.get(), bytes, sizeof(bytes))) > 0;) {
    text.append(bytes, static_cast<std::size_t>(got));
  }
  return text;
}

// Fills it through a flag that is taken off again: what is left is a stderr that blocks.
void Fill(const UniqueFd& fd) {
  fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  const std::string much(1 << 12, '.');
  while (write(fd.get(), much.data(), much.size()) > 0) {
  }
  while (write(fd.get(), ".", 1) > 0) {
  }
  fcntl(fd.get(), F_SETFL, 0);
}

// Without this every line below would wait for ever.
void ExpectDropsAndCounts(const UniqueFd& stderr_end, const UniqueFd& reader) {
  Fill(stderr_end);
  const StderrIs now(stderr_end);
  Diagnose("first");
  Diagnose("second");
  EXPECT_EQ(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0) << "CMD's writes would fail";
  EXPECT_THAT(ReadAll(reader), Not(HasSubstr("zkr")));
  Diagnose("third");
  EXPECT_EQ(ReadAll(reader), "zkr: 2 messages were dropped: stderr was full\nzkr: third\n");
}

TEST(Diagnostic, DropsAndCountsWhatAFullPipeDoesNotTake) {
  Pipe pipe = ClosingPipe();
  ExpectDropsAndCounts(pipe.write_end, pipe.read_end);
}

TEST(Diagnostic, DropsAndCountsWhatAFullSocketDoesNotTake) {
  int fds[2] = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  ExpectDropsAndCounts(UniqueFd(fds[0]), UniqueFd(fds[1]));
}

TEST(Diagnostic, IsDroppedByATerminalThatIsHalted) {
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  const UniqueFd screen(master), terminal(slave);
  const StderrIs now(terminal);
  ASSERT_EQ(tcflow(terminal.get(), TCOOFF), 0);  // as Ctrl-S does
  Diagnose("first");
  ASSERT_EQ(tcflow(terminal.get(), TCOON), 0);
  Diagnose("second");
  EXPECT_THAT(ReadAll(screen),
              HasSubstr("1 messages were dropped: stderr was full\r\nzkr: second"));
}

TEST(Diagnostic, IsAppendedToAFile) {
  char name[] = "/tmp/zkr-diagnostic-XXXXXX";
  const UniqueFd file(mkstemp(name));
  {
    const StderrIs now(file);
    Diagnose("first");
    Diagnose("second");
  }
  EXPECT_EQ(ReadWhole(name), "zkr: first\nzkr: second\n");
  unlink(name);
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor
