// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/resource.h"

#include <sys/socket.h>

#include <array>
#include <optional>
#include <ostream>
#include <string>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace zkrecipes::history {
namespace {

constexpr Event::Mode kExclusive = Event::Mode::kExclusive;
constexpr Event::Mode kShared = Event::Mode::kShared;

Event Write(const std::string& path, Event::Mode mode, int64_t token) {
  return {.who = "w1", .what = Event::What::kWrite, .path = path, .mode = mode, .token = token};
}

struct Admissions {
  const char* name;
  std::string writes;  // "w6+ r5-": a writer's token 6 is accepted, then a reader's token 5 refused
};

std::ostream& operator<<(std::ostream& out, const Admissions& a) { return out << a.writes; }

class ResourceTest : public ::testing::TestWithParam<Admissions> {};

TEST_P(ResourceTest, Admits) {
  Resource resource;
  for (const absl::string_view expected : absl::StrSplit(GetParam().writes, ' ')) {
    Event write = Write("/a", expected[0] == 'r' ? kShared : kExclusive, expected[1] - '0');
    resource.Judge(write);
    EXPECT_EQ(write.accepted, expected[2] == '+') << "write " << write.order;
  }
}

const Admissions kAdmissions[] = {
    {"TheSameTokenAgainAndALargerOne", "w5+ w5+ w6+"},
    {"NoWriterWhoseTokenIsBelowAnotherWriters", "w6+ w5- w6+"},
    {"NoWriterWhoseTokenIsBelowAReaders", "r6+ w5-"},
    {"NoReaderWhoseTokenIsBelowAWriters", "w6+ r5-"},
    // The largest reader's token counts, not the last one's.
    {"ReadersTogetherWhateverTheirTokens", "r6+ r5+ w5-"},
    {"TheReaderThatAWriterBecameWithTheSameToken", "w6+ r6+"},
    {"AsIfARefusedTokenHadNotBeen", "w6+ r5- w6+"},
};
INSTANTIATE_TEST_SUITE_P(Tokens, ResourceTest, ::testing::ValuesIn(kAdmissions),
                         [](const auto& tested) { return std::string(tested.param.name); });

// A worker's end.
class WorkerEnd {
 public:
  explicit WorkerEnd(ResourceServer& server) {
    int ends[2];
    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
    socket_ = base::UniqueFd(ends[0]);
    server.Add(base::UniqueFd(ends[1]));
  }

  void Send(const std::string& text) {
    send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // nullopt: it is closed.
  std::optional<Event> Receive() {
    std::array<char, 4096> buffer{};
    const ssize_t n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) return std::nullopt;
    return *FromLine(std::string(buffer.data(), static_cast<size_t>(n)));
  }
  // "accepted 1"
  std::string Ask(const Event& write) {
    Send(ToLine(write));
    const std::optional<Event> answer = Receive();
    if (!answer.has_value()) return "closed";
    return (answer->accepted ? "accepted " : "refused ") + std::to_string(answer->order);
  }

 private:
  base::UniqueFd socket_;
};

TEST(ResourceServerTest, IsOneResourceForAllWorkersWithAGateForEachPathAndOneOrder) {
  ResourceServer server;
  WorkerEnd first(server), second(server);
  EXPECT_EQ(first.Ask(Write("/a", kExclusive, 6)), "accepted 1");
  EXPECT_EQ(second.Ask(Write("/a", kExclusive, 5)), "refused 2");
  EXPECT_EQ(second.Ask(Write("/b", kExclusive, 5)), "accepted 3");
  EXPECT_EQ(server.counts().accepted, 2);
  EXPECT_EQ(server.counts().refused, 1);
}

TEST(ResourceServerTest, GivesEachWriteBackOtherwiseUnchanged) {
  ResourceServer server;
  WorkerEnd worker(server);
  Event write = Write("/a", kShared, 4294967302);
  write.attempt = 17;
  worker.Send(ToLine(write));
  worker.Send(ToLine(Write("/a", kShared, 7)));
  write.accepted = true;
  write.order = 1;
  EXPECT_EQ(worker.Receive(), write);
  EXPECT_EQ(worker.Receive()->order, 2);
}

TEST(ResourceServerTest, IsNotHeldUpByAWorkerThatIsGoneOrDoesNotRead) {
  ResourceServer server;
  WorkerEnd silent(server);
  silent.Send(ToLine(Write("/a", kShared, 6)));
  { const WorkerEnd gone(server); }
  WorkerEnd other(server);
  EXPECT_EQ(other.Ask(Write("/b", kShared, 6)).substr(0, 8), "accepted");
  EXPECT_TRUE(silent.Receive()->accepted);
}

TEST(ResourceServerTest, ClosesToAWorkerThatSendsSomethingElse) {
  for (const std::string text : {"give me all", R"({"at":0,"who":"w1","what":"grant"})"}) {
    ResourceServer server;
    WorkerEnd worker(server);
    worker.Send(text);
    EXPECT_EQ(worker.Receive(), std::nullopt);
  }
}

}  // namespace
}  // namespace zkrecipes::history
