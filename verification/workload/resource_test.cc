// SPDX-License-Identifier: Apache-2.0

#include "verification/workload/resource.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

#include "testing/local/work_directory.h"
#include "verification/checker/run_directory.h"
#include "verification/workload/recorder.h"

namespace zkrecipes::history {
namespace {

using What = Event::What;

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

struct WorkerEnd {
  explicit WorkerEnd(Resource& resource) {
    int ends[2];
    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
    socket = base::UniqueFd(ends[0]);
    resource.Serve(base::UniqueFd(ends[1]));
  }
  void Send(const std::string& text) const {
    send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
  }
  // nullopt: it is closed.
  std::optional<Event> Ask(const Event& write) const {
    return ResourceClient(socket.get()).Write(write);
  }
  // "accepted 1"
  std::string Told(const Event& write) const {
    const std::optional<Event> answer = Ask(write);
    return (answer->accepted ? "accepted " : "refused ") + std::to_string(answer->order);
  }

  base::UniqueFd socket;
};

TEST(ServedResourceTest, IsOneResourceForAllWorkersWithAGateForEachPathAndOneOrder) {
  Resource resource;
  WorkerEnd first(resource), second(resource);
  EXPECT_EQ(first.Told(Write("/a", kExclusive, 6)), "accepted 1");
  EXPECT_EQ(second.Told(Write("/a", kExclusive, 5)), "refused 2");
  EXPECT_EQ(second.Told(Write("/b", kExclusive, 5)), "accepted 3");
  EXPECT_EQ(resource.counts().accepted, 2);
  EXPECT_EQ(resource.counts().refused, 1);
}

TEST(ServedResourceTest, GivesEachWriteBackOtherwiseUnchanged) {
  Resource resource;
  WorkerEnd worker(resource);
  Event write = Write("/a", kShared, 4294967302);
  write.attempt = 17;
  const std::optional<Event> answer = worker.Ask(write);
  write.accepted = true;
  write.order = 1;
  EXPECT_EQ(answer, write);
}

TEST(ServedResourceTest, IsNotHeldUpByAWorkerThatIsGoneOrDoesNotRead) {
  Resource resource;
  WorkerEnd silent(resource);
  silent.Send(ToLine(Write("/a", kShared, 6)));
  { const WorkerEnd gone(resource); }
  WorkerEnd other(resource);
  EXPECT_TRUE(other.Ask(Write("/b", kShared, 6))->accepted);
  EXPECT_EQ(silent.Ask(Write("/c", kShared, 7))->path, "/a") << "that answer waits for it";
}

TEST(ServedResourceTest, ClosesToAWorkerThatSendsSomethingElse) {
  for (const std::string text : {"give me all", R"({"at":0,"who":"w1","what":"grant"})"}) {
    Resource resource;
    WorkerEnd worker(resource);
    worker.Send(text);
    EXPECT_EQ(worker.Ask(Write("/a", kShared, 6)), std::nullopt);
  }
}

class RecorderTest : public ::testing::Test {
 protected:
  std::vector<Event> Recorded() {
    const absl::StatusOr<std::vector<Event>> history = ReadHistory(path_);
    EXPECT_TRUE(history.ok()) << history.status();
    return history.ok() ? *history : std::vector<Event>();
  }

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::string path_ = directory_.path() + "/history";
};

TEST_F(RecorderTest, SaysWhoAndWhenIfTheEventDoesNot) {
  const int64_t before = Now();
  auto recorder = *Recorder::Open(path_, "w1");
  recorder->Record({.what = What::kStart});
  recorder->Record({.at = 7, .who = "w2", .what = What::kKilled});
  const std::vector<Event> events = Recorded();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].who, "w1");
  EXPECT_GE(events[0].at, before);
  EXPECT_LE(events[0].at, Now());
  EXPECT_EQ(events[1].who, "w2");
  EXPECT_EQ(events[1].at, 7);
}

TEST_F(RecorderTest, NeverWritesIntoAnotherHistory) {
  ASSERT_TRUE(Recorder::Open(path_, "w1").ok());
  EXPECT_EQ(Recorder::Open(path_, "w1").status().code(), absl::StatusCode::kInternal);
}

TEST_F(RecorderTest, KeepsLinesOfManyThreadsWhole) {
  auto recorder = *Recorder::Open(path_, "w1");
  std::vector<std::thread> threads;
  for (int64_t attempt = 1; attempt <= 4; ++attempt) {
    threads.emplace_back([&recorder, attempt] {
      for (int i = 0; i < 200; ++i) recorder->Record({.what = What::kInvoke, .attempt = attempt});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Recorded().size(), 800u);
}

TEST_F(RecorderTest, LosesNothingWhenItsProcessIsKilled) {
  const pid_t child = fork();
  if (child == 0) {
    auto recorder = *Recorder::Open(path_, "w1");
    recorder->Record({.what = What::kStart});
    recorder->Record({.what = What::kInvoke});
    raise(SIGKILL);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(Recorded().size(), 2u);
}

}  // namespace
}  // namespace zkrecipes::history
