// SPDX-License-Identifier: Apache-2.0
//
// Questions to the ensemble that need no place in a queue.

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"

#include "lib/base/boot_time.h"
#include "lib/queue/call/ask.h"
#include "lib/session/client/client_core.h"
#include "testing/memory/driver.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using ::testing::Each;

TEST(CheckSequencer, RefusesANodeThatReadsAsOneOfANamespace) {
  InMemoryEnsemble ensemble;
  const Sequencer sequencer = {GrantMode::kExclusive, FencingToken(7), "/x/a//b/c"};
  EXPECT_EQ(CheckSequencer(**ensemble.Connect(), sequencer, {absl::ZeroDuration()}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Its node may be named as a lock's, whose data is JSON.
TEST(Candidates, HaveTheIdsThatTheLeaderHas) {
  const std::string id = R"({"id":"other","host":"h"})";
  InMemoryEnsemble ensemble;
  const auto client = *ensemble.Connect();
  for (const NodeMarker marker : {NodeMarker::kLatch, NodeMarker::kLock, NodeMarker::kWriter}) {
    const LeaderElection election(client, "/e", {.marker = marker, .candidate = {id}});
    const Lease lease = *election.Campaign();
    EXPECT_EQ((*election.CurrentLeader())->owner.id, id);
    EXPECT_EQ(election.Candidates()->front().owner.id, id);
    EXPECT_THAT(std::string(election.TryCampaign().status().message()),
                ::testing::HasSubstr("held by {"));
  }
}

TEST(Asking, GoesOnAfterEveryAnswerThatSaysNothing) {
  using zk::Code;
  for (const Code code : {Code::kThrottled, Code::kSessionExpired, Code::kConnectionLoss}) {
    const absl::Status status = queue::call::AskedStatus(code, "delete", "/q");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  }
  EXPECT_EQ(queue::call::AskedStatus(Code::kNoAuth, "delete", "/q").code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(Asking, GoesOnWhileTheServerThrottlesIt) {
  constexpr char kPath[] = "/q";
  memory::Driver driver({.traits = {.throttled_of = 7}}, 1, /*own_thread=*/true);
  std::vector<absl::StatusCode> codes;
  std::atomic<bool> over = false;
  std::shared_ptr<Client> client;
  driver.Do([&](memory::Simulation& simulation) {
    const auto core = simulation.NewClient(simulation.AddHost());
    core->Start([](const absl::Status&) {});
    client = internal::ClientAccess::Wrap(core);
  });
  std::thread user([&] {
    const LeaderElection election(client, kPath);
    const auto note = [&codes](const auto& answer) { codes.push_back(answer.status().code()); };
    for (int i = 0; i < 20; ++i) {
      Lease lease = *election.Campaign();
      note(election.Candidates());
      note(election.CurrentLeader());
      note(ListContenders(*client, kPath));
      note(CheckSequencer(*client, lease.sequencer()));
      codes.push_back(BreakContender(*client, kPath, lease.token()).code());
    }
    client.reset();
    over = true;
  });
  while (!over) {
    driver.Do([](memory::Simulation& simulation) {
      simulation.RunUntil(simulation.now() + absl::Milliseconds(10));
    });
  }
  user.join();
  EXPECT_THAT(codes, Each(absl::StatusCode::kOk));
}

// The pause before it is asked again is a part of the timeout.
// How late a question of a second ends that is asked once more in the middle. Simulated time may
// run on while the machine keeps the thread that asks from running: then it seems later.
absl::Duration LatenessOfAQuestion() {
  int asked = 0;
  std::atomic<bool> over = false;
  absl::Status status;
  base::BootTime deadline, ended;
  InMemoryEnsemble ensemble;
  const auto client = *ensemble.Connect();
  internal::ClientCore& core = *internal::ClientAccess::Core(*client);
  std::thread user([&] {
    deadline = core.Now() + absl::Seconds(1);
    const auto ask = [&asked](session::Session&, auto done) {
      if (++asked == 1) std::move(done)(absl::UnavailableError("not now"));
    };
    status = queue::call::AskUntilAnswered<bool>(core, "ask", {absl::Seconds(1)}, ask).status();
    ended = core.Now();
    over = true;
  });
  EXPECT_TRUE(ensemble.AdvanceUntil([&over] { return over.load(); }));
  user.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  // Time has passed before this thread came to its pause.
  if (asked < 2) return absl::InfiniteDuration();
  EXPECT_EQ(asked, 2);
  return ended - deadline;
}

TEST(Asking, EndsByItsTimeoutThoughItWasAskedAgainInTheMiddle) {
  absl::Duration least = absl::InfiniteDuration();
  for (int i = 0; i < 20 && least >= absl::Milliseconds(30); ++i) {
    least = std::min(least, LatenessOfAQuestion());
  }
  EXPECT_LT(least, absl::Milliseconds(30));  // half the shortest pause
}

}  // namespace
}  // namespace zkrecipes::testing
