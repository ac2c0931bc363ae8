// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/supervisor/diagnostic.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "lib/base/unique_fd.h"
#include "tools/zkr/supervisor/process.h"
#include "tools/zkr/supervisor/stream_fixture.h"

namespace zkrecipes::zkr::supervisor {
namespace {

using base::UniqueFd;
using ::testing::HasSubstr;
using ::testing::Not;

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
  const StreamIs now(STDERR_FILENO, stderr_end);
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

// Of root's, without root's rights: as after `sudo -u`.
TEST(Diagnostic, DropsWhatAPipeOfAnotherUserDoesNotTake) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  Pipe pipe = ClosingPipe();
  ASSERT_EQ(fchmod(pipe.write_end.get(), 0600), 0);
  setfsuid(65534);
  ASSERT_LT(open(absl::StrCat("/proc/self/fd/", pipe.write_end.get()).c_str(), O_WRONLY), 0);
  ExpectDropsAndCounts(pipe.write_end, pipe.read_end);
  setfsuid(0);
}

TEST(Diagnostic, OfAnyLengthIsOneWholeLine) {
  Pipe pipe = ClosingPipe();
  const StreamIs now(STDERR_FILENO, pipe.write_end);
  Diagnose(std::string(1 << 15, 'x'));
  const std::string line = ReadAll(pipe.read_end);
  EXPECT_LT(line.size(), 4096u);
  EXPECT_TRUE(line.ends_with("x...\n"));
}

TEST(Diagnostic, BeginsALineOfItsOwnBehindOneThatWasTorn) {
  int fds[2] = {};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
  const UniqueFd stderr_end(fds[0]), reader(fds[1]);
  Fill(stderr_end);
  const StreamIs now(STDERR_FILENO, stderr_end);
  // Until a line finds room for a part of itself.
  std::string said;
  for (int i = 0; i < 10'000 && said.find("zkr: xx") == std::string::npos; ++i) {
    char bytes[512];
    const ssize_t got = read(reader.get(), bytes, sizeof(bytes));
    said.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    Diagnose(std::string(3000, 'x'));
  }
  said += ReadAll(reader);
  Diagnose("last");
  said += ReadAll(reader);
  EXPECT_NE(said.find("\nzkr: last\n"), std::string::npos);
  for (std::size_t at = 0; (at = said.find("xzkr:", at)) != std::string::npos; ++at) {
    ADD_FAILURE() << "torn at " << at;
  }
}

TEST(Diagnostic, IsDroppedByATerminalThatIsHalted) {
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  const UniqueFd screen(master), terminal(slave);
  const StreamIs now(STDERR_FILENO, terminal);
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
    const StreamIs now(STDERR_FILENO, file);
    Diagnose("first");
    Diagnose("second");
  }
  EXPECT_EQ(ReadWhole(name), "zkr: first\nzkr: second\n");
  unlink(name);
}

}  // namespace
}  // namespace zkrecipes::zkr::supervisor
