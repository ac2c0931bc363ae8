// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/outbox.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace zkrecipes::zk::wire {
namespace {

// A connected pair of sockets: the client's end does not block.
class OutboxTest : public testing::Test {
 protected:
  void SetUp() override { Connect(); }
  void TearDown() override { Disconnect(); }

  void Connect() {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    mine_ = ends[0];
    theirs_ = ends[1];
  }
  void Disconnect() {
    close(mine_);
    close(theirs_);
  }

  ssize_t Send(const std::string& bytes) { return outbox_.Send(mine_, bytes.data(), bytes.size()); }

  // What has arrived at the other end.
  std::string Received() {
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = read(theirs_, buffer, sizeof(buffer))) > 0;) {
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }

  // Writes until the socket takes no more; returns how much it took.
  size_t FillSocket() {
    const std::string chunk(4096, '.');
    size_t total = 0;
    for (ssize_t n; (n = write(mine_, chunk.data(), chunk.size())) > 0;) {
      total += static_cast<size_t>(n);
    }
    return total;
  }

  int mine_ = -1;
  int theirs_ = -1;
  Outbox outbox_;
};

TEST_F(OutboxTest, KeepsTheWritesOfARoundAndSendsThemTogether) {
  EXPECT_EQ(Send("abc"), 3);
  EXPECT_EQ(Send("de"), 2);
  EXPECT_EQ(Received(), "");
  outbox_.Flush();
  EXPECT_EQ(Received(), "abcde");
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(OutboxTest, KeepsWhatTheSocketDoesNotTakeInOrder) {
  const size_t filled = FillSocket();
  EXPECT_EQ(Send("late"), 4);
  outbox_.Flush();
  EXPECT_FALSE(outbox_.empty());
  EXPECT_EQ(Received(), std::string(filled, '.'));
  Send("r");
  outbox_.Flush();
  EXPECT_EQ(Received(), "later");
}

TEST_F(OutboxTest, SendsInPiecesWhatIsLargerThanTheSocketsBuffer) {
  const std::string large(3'000'000, 'x');
  Send(large);
  std::string received;
  for (int i = 0; i < 10'000 && received.size() < large.size(); ++i) {
    outbox_.Flush();
    received += Received();
  }
  EXPECT_EQ(received, large);
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(OutboxTest, MasksADeadSocketAndForgetsWhatWasForIt) {
  close(theirs_);
  EXPECT_EQ(Send("abc"), 3);
  outbox_.Flush();  // EPIPE, and no SIGPIPE
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(Send("def"), 3);
}

TEST_F(OutboxTest, NeverSendsToANewSocketWhatWasForTheOldOne) {
  Send("old");
  const int old_number = mine_;
  Disconnect();
  outbox_.Drop();
  Connect();
  ASSERT_EQ(mine_, old_number) << "the kernel gives the lowest free number";
  Send("new");
  outbox_.Flush();
  EXPECT_EQ(Received(), "new");
}

TEST_F(OutboxTest, DropsWhatWasForAnotherNumber) {
  Send("old");
  const int first = mine_;
  const int first_peer = theirs_;
  Connect();
  Send("new");
  outbox_.Flush();
  EXPECT_EQ(Received(), "new");
  EXPECT_EQ(outbox_.fd(), mine_);
  close(first);
  close(first_peer);
}

TEST_F(OutboxTest, SendsAtOnceWhenDirectAfterWhatItHeldBack) {
  Send("held ");
  outbox_.SetDirect();
  EXPECT_EQ(Send("direct"), 6);
  EXPECT_EQ(Received(), "held direct");
}

TEST_F(OutboxTest, FailsLikeSendWhenDirect) {
  outbox_.SetDirect();
  FillSocket();
  EXPECT_EQ(Send("x"), -1);
  EXPECT_EQ(errno, EAGAIN);
  close(theirs_);
  EXPECT_EQ(Send("x"), -1);
  EXPECT_TRUE(errno == EPIPE || errno == ECONNRESET) << errno;
}

TEST_F(OutboxTest, SendsNothingInAForkedChild) {
  Send("before");
  const pid_t child = fork();
  if (child == 0) {
    Send("child");
    outbox_.Flush();
    outbox_.SetDirect();
    _exit(Send("child") == -1 && errno == EAGAIN ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Received(), "");
  outbox_.Flush();
  EXPECT_EQ(Received(), "before");
}

}  // namespace
}  // namespace zkrecipes::zk::wire
