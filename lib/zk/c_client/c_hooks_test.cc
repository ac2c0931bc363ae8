// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/c_client/c_hooks.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/zk/wire/wire_fixture.h"

namespace zkrecipes::zk::c_client {
namespace {

TEST(HookSend, GoesToTheInnerOutboxWhileScopesNest) {
  Boxes outer;
  Boxes inner;
  const BoxScope outer_scope(&outer);
  {
    const BoxScope inner_scope(&inner);
    zkrecipes_hook_send(8, "x", 1, 0);
  }
  EXPECT_EQ(inner.out.fd(), 8);
  EXPECT_TRUE(outer.out.empty());
  zkrecipes_hook_send(9, "x", 1, 0);
  EXPECT_EQ(outer.out.fd(), 9);
}

TEST(HookSend, SendsNothingOutsideAScope) {
  EXPECT_EQ(zkrecipes_hook_send(1, "not to stdout", 13, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(HookRecv, ReadsWhatTheInboxOfTheScopeLetsPass) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  Boxes boxes;
  const BoxScope scope(&boxes);
  const std::string asked = wire::Frame(wire::Handshake());
  zkrecipes_hook_send(ends[0], asked.data(), asked.size(), 0);
  const std::string welcome = wire::Frame(wire::Welcome(1)) + wire::Frame("nonsense");
  ASSERT_EQ(write(ends[1], welcome.data(), welcome.size()), static_cast<ssize_t>(welcome.size()));
  char bytes[100];
  EXPECT_EQ(zkrecipes_hook_recv(ends[0], bytes, sizeof(bytes), 0), 41);
  EXPECT_EQ(zkrecipes_hook_recv(ends[0], bytes, sizeof(bytes), 0), -1);
  EXPECT_EQ(errno, EPROTO);
  close(zkrecipes_hook_socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(boxes.in.TakeRefusal(), "") << "forgotten with its socket";
  close(ends[0]);
  close(ends[1]);
}

TEST(HookRecv, ReadsNothingOutsideAScope) {
  char byte;
  EXPECT_EQ(zkrecipes_hook_recv(0, &byte, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(HookSocket, IsClosedOnExec) {
  const int fd = zkrecipes_hook_socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  close(fd);
}

TEST(HookSocket, DropsWhatWasForTheHandlesOldSocket) {
  Boxes boxes;
  const BoxScope scope(&boxes);
  zkrecipes_hook_send(7, "old", 3, 0);
  close(zkrecipes_hook_socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_TRUE(boxes.out.empty());
}

TEST(HookSrandom, LeavesTheProcesssRandomAlone) {
  srandom(1);
  const long first = random();
  srandom(1);
  zkrecipes_hook_srandom(99);
  EXPECT_EQ(random(), first);
}

TEST(HookGetXid, IsPositiveAndNeverTheSameOnManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  std::vector<std::vector<int32_t>> drawn(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : drawn) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < kEach; ++i) mine.push_back(zkrecipes_hook_get_xid());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int32_t> all;
  for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), size_t{kThreads * kEach});
  EXPECT_GT(*all.begin(), 0);
}

}  // namespace
}  // namespace zkrecipes::zk::c_client
