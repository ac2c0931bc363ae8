// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/inbox.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::wire {
namespace {

// A connected pair of sockets: the test is the server.
class InboxTest : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    mine_ = ends[0];
    theirs_ = ends[1];
    inbox_.Asked(wire::Frame(wire::Handshake()));
  }
  void TearDown() override {
    close(mine_);
    close(theirs_);
  }

  void Say(const std::string& bytes) {
    ASSERT_EQ(write(theirs_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void Establish() {
    Say(wire::Frame(wire::Welcome(1)));
    ASSERT_EQ(Read(41), wire::Frame(wire::Welcome(1)));
    EXPECT_EQ(Read(4), "");
  }
  void Ask(int32_t xid, int32_t type) { inbox_.Asked(wire::Frame(wire::Request(xid, type))); }

  // What one call of the C client gets, "" if nothing; the error is in error_.
  std::string Read(size_t size) {
    std::string bytes(size, '?');
    const ssize_t got = inbox_.Recv(mine_, bytes.data(), size);
    error_ = got < 0 ? errno : 0;
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }
  bool SocketIsEmpty() {
    char byte;
    return recv(mine_, &byte, 1, MSG_PEEK) < 0;
  }

  int mine_ = -1;
  int theirs_ = -1;
  int error_ = 0;
  Inbox inbox_;
};

TEST_F(InboxTest, ShowsAFrameOnlyOnceItIsWhole) {
  Establish();
  Ask(1, wire::kGetChildren);
  const std::string frame = wire::Frame(wire::Reply(1, wire::Names({"a", "b"})));
  for (const char byte : frame.substr(0, frame.size() - 1)) {
    Say(std::string(1, byte));
    EXPECT_EQ(Read(4), "");
    EXPECT_EQ(error_, EAGAIN);
  }
  Say(frame.substr(frame.size() - 1));
  EXPECT_EQ(Read(4), frame.substr(0, 4));
  EXPECT_EQ(Read(1000), frame.substr(4));
}

// The rest of it goes past, in pieces of any size, and costs no memory.
TEST_F(InboxTest, TurnsAReplyThatIsTooLongIntoAnErrorAndReadsOnBehindIt) {
  constexpr int32_t kBytes = (64 << 20) + 1;
  Establish();
  Ask(1, wire::kGetChildren);
  Ask(2, wire::kDelete);
  const std::string head = wire::Int(kBytes) + wire::Reply(1);
  for (const char byte : head) {
    EXPECT_EQ(Read(4), "");
    Say(std::string(1, byte));
  }
  EXPECT_EQ(Read(4), wire::Int(16));
  EXPECT_EQ(Read(1000), wire::Reply(1, "", -1001));
  for (int32_t left = kBytes - 16; left > 0;) {
    const int32_t piece = std::min(left, 10'007);
    Say(std::string(static_cast<size_t>(piece), 'x'));
    EXPECT_EQ(Read(4), "");
    EXPECT_EQ(error_, EAGAIN);
    EXPECT_EQ(inbox_.TakeProgress(), left > piece);
    left -= piece;
  }
  Say(wire::Frame(wire::Reply(2)));
  EXPECT_EQ(Read(4), wire::Int(16));
  EXPECT_EQ(Read(1000), wire::Reply(2));
}

TEST_F(InboxTest, ForgetsWhatItSkipsWithTheConnection) {
  Establish();
  Ask(1, wire::kGetChildren);
  Say(wire::Int(65 << 20) + wire::Reply(1));
  EXPECT_EQ(Read(4), wire::Int(16));
  inbox_.Drop();
  inbox_.Asked(wire::Frame(wire::Handshake()));
  Establish();
}

TEST_F(InboxTest, NeverReadsOnIntoTheNextFrame) {
  // The C client asks for 41 bytes, and an old server's welcome has 40.
  const std::string welcome = wire::Frame(wire::Welcome(1).substr(0, 36));
  const std::string event = wire::Frame(wire::Event(1, "/a"));
  Say(welcome + event);
  EXPECT_EQ(Read(41), welcome);
  EXPECT_EQ(Read(4), event.substr(0, 4));
  EXPECT_EQ(Read(1000), event.substr(4));
}

TEST_F(InboxTest, FetchesAllThatHasComeWithOneRead) {
  Establish();
  std::string all;
  for (int32_t xid = 1; xid <= 100; ++xid) {
    Ask(xid, wire::kDelete);
    all += wire::Frame(wire::Reply(xid));
  }
  Say(all);
  EXPECT_EQ(Read(4), wire::Int(16));
  EXPECT_TRUE(SocketIsEmpty());
  std::string read = wire::Int(16);
  for (std::string piece; !(piece = Read(20)).empty();) read += piece;
  EXPECT_EQ(read, all);
}

TEST_F(InboxTest, AsksTheSocketAgainOnceItHasSaidThatThereIsNoMore) {
  Establish();
  Ask(1, wire::kDelete);
  Ask(2, wire::kDelete);
  Say(wire::Frame(wire::Reply(1)));
  EXPECT_EQ(Read(100).size(), 20u);
  Say(wire::Frame(wire::Reply(2)));
  EXPECT_EQ(Read(100), "") << "the first read has emptied the socket: left to poll";
  EXPECT_EQ(Read(100).size(), 20u);
}

TEST_F(InboxTest, TakesAReplyThatIsLargerThanItsBuffer) {
  Establish();
  Ask(1, wire::kGetChildren);
  Ask(2, wire::kDelete);
  const std::string large = wire::Frame(
      wire::Reply(1, wire::Names(std::vector<std::string>(3000, std::string(600, 'n')))));
  const std::string all = large + wire::Frame(wire::Reply(2));
  std::string read;
  for (size_t at = 0; at < all.size();) {
    const ssize_t said = write(theirs_, all.data() + at, all.size() - at);
    if (said > 0) at += static_cast<size_t>(said);
    for (std::string piece; !(piece = Read(1 << 20)).empty();) read += piece;
    ASSERT_EQ(error_, EAGAIN);
  }
  EXPECT_EQ(read, all);
}

TEST_F(InboxTest, KnowsWhenItHasGivenAllThatHadCome) {
  Establish();
  for (int xid = 1; xid <= 3; ++xid) Ask(xid, wire::kDelete);
  Say(wire::Frame(wire::Reply(1)) + wire::Frame(wire::Reply(2)));
  EXPECT_EQ(Read(100).size(), 20u);
  EXPECT_TRUE(inbox_.MayHaveMore());
  EXPECT_EQ(Read(100).size(), 20u);
  EXPECT_FALSE(inbox_.MayHaveMore());
  Say(wire::Frame(wire::Reply(3)));
  EXPECT_EQ(Read(100).size(), 20u) << "looks again what the socket holds";
}

TEST_F(InboxTest, RefusesAWrongFrameAndAllThatFollows) {
  Establish();
  Ask(1, wire::kDelete);
  Say(wire::Frame(wire::Reply(1)) + wire::Frame(wire::Reply(2)) +
      wire::Frame(wire::Event(1, "/a")));
  EXPECT_EQ(Read(100).size(), 20u) << "what came before is good";
  EXPECT_TRUE(inbox_.MayHaveMore()) << "a refusal to tell";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Read(100), "");
    EXPECT_EQ(error_, EPROTO);
  }
  EXPECT_EQ(inbox_.TakeRefusal(),
            "does not speak ZooKeeper: it answers request 2, but none was asked");
  EXPECT_EQ(inbox_.TakeRefusal(), "") << "told once";
}

TEST_F(InboxTest, RefusesALengthBeforeItsFrameHasCome) {
  Establish();
  Say(wire::Int(-1));
  EXPECT_EQ(Read(4), "");
  EXPECT_EQ(error_, EPROTO);
}

TEST_F(InboxTest, ForgetsTheOldConversationWithItsSocket) {
  Establish();
  Ask(1, wire::kDelete);
  Say(wire::Frame(wire::Reply(7)));
  EXPECT_EQ(Read(4), "");
  inbox_.Drop();
  inbox_.Asked(wire::Frame(wire::Handshake()));
  EXPECT_EQ(inbox_.TakeRefusal(), "");
  Establish();
  Say(wire::Frame(wire::Reply(1)));
  EXPECT_EQ(Read(4), "") << "asked on the old one";
  EXPECT_EQ(error_, EPROTO);
}

TEST_F(InboxTest, PassesOnTheEndOfTheConnection) {
  Establish();
  Say("12");
  shutdown(theirs_, SHUT_WR);
  char byte;
  EXPECT_EQ(Read(4), "");
  EXPECT_EQ(inbox_.Recv(mine_, &byte, 1), 0);
}

TEST_F(InboxTest, TakesNothingInAForkedChild) {
  Say(wire::Frame(wire::Welcome(1)));
  const pid_t child = fork();
  if (child == 0) _exit(Read(41).empty() && error_ == EAGAIN ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read(41), wire::Frame(wire::Welcome(1)));
}

}  // namespace
}  // namespace zkrecipes::zk::wire
