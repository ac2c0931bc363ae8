// SPDX-License-Identifier: Apache-2.0

#include "lib/base/unique_fd.h"
#include "verification/workload/resource_server.h"

#include <sys/socket.h>

#include <string>
#include <utility>

#include "gtest/gtest.h"


namespace zkrecipes::history {
namespace {

// A worker's end.
class Peer {
 public:
  explicit Peer(ResourceServer& server) {
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    mine_ = base::UniqueFd(ends[0]);
    server.Add(base::UniqueFd(ends[1]));
  }

  void Send(const std::string& text) { send(mine_.get(), text.data(), text.size(), MSG_NOSIGNAL); }
  // Up to the line break; "" once it is closed.
  std::string Receive() {
    std::string line;
    for (char c = 0; recv(mine_.get(), &c, 1, 0) == 1 && c != '\n';) line += c;
    return line;
  }
  std::string Ask(const std::string& text) {
    Send(text);
    return Receive();
  }

 private:
  base::UniqueFd mine_;
};

TEST(ResourceServerTest, IsOneResourceForAllWorkers) {
  ResourceServer server;
  Peer first(server), second(server);
  EXPECT_EQ(first.Ask("write 1 /a exclusive 6\n"), "1 accepted 1");
  EXPECT_EQ(second.Ask("write 1 /a exclusive 5\n"), "1 refused 2");
  EXPECT_EQ(second.Ask("write 2 /b exclusive 5\n"), "2 accepted 3");
  EXPECT_EQ(server.accepted(), 2);
  EXPECT_EQ(server.refused(), 1);
}

TEST(ResourceServerTest, AnswersSeveralRequestsOfOneWorker) {
  ResourceServer server;
  Peer peer(server);
  EXPECT_EQ(peer.Ask("write 1 /a shared 6\nwrite 2 /a shared 7\n"), "1 accepted 1");
  EXPECT_EQ(peer.Receive(), "2 accepted 2");
}

TEST(ResourceServerTest, IsNotHeldUpByAWorkerThatIsGoneOrDoesNotRead) {
  ResourceServer server;
  Peer silent(server);
  silent.Send("write 1 /a shared 6\nwrite 2");
  { const Peer gone(server); }
  Peer other(server);
  EXPECT_NE(other.Ask("write 7 /b shared 6\n").find("7 accepted"), std::string::npos);
  EXPECT_EQ(silent.Ask(" /a shared 6\n"), "1 accepted 1");
}

TEST(ResourceServerTest, ClosesToWhoSaysSomethingElse) {
  ResourceServer server;
  Peer peer(server);
  EXPECT_EQ(peer.Ask("give me all\n"), "");
}

}  // namespace
}  // namespace zkrecipes::history
