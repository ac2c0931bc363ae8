// SPDX-License-Identifier: Apache-2.0
//
// Many rounds of ours and of another library's on one path, with kills, pauses past the session
// timeout and a server's death; judged by the history checker with ZooKeeper's own log.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/servers/local_servers.h"
#include "testing/local/work_directory.h"
#include "verification/checker/run_directory.h"
#include "verification/interoperability/peer.h"
#include "verification/workload/crew.h"

namespace zkrecipes::integration {
namespace {

using history::Event;
using What = Event::What;

constexpr absl::Duration kSession = absl::Seconds(2);
constexpr absl::Duration kCalm = absl::Seconds(2);
constexpr absl::Duration kPatience = absl::Minutes(2);
constexpr int kGrants = 20;  // more than that on either side, or the run has shown little
constexpr int kPeers = 2;
constexpr int kWorkers = 2;

struct Pairing {
  const char* name;
  PeerKind kind;
  const char* theirs;
  bool reader = false;                 // theirs is one
  std::vector<std::string> ours = {};  // of zkrecipes-worker
  const char* child = "lock-0";
};

int64_t GrantsOf(const std::vector<Event>& events, char initial) {
  return std::ranges::count_if(events, [initial](const Event& event) {
    return event.what == What::kGrant && event.who[0] == initial;
  });
}

// One part of the run, played by one process after another.
class Participant {
 public:
  Participant(const Pairing& pairing, std::string servers, std::string path, std::string who)
      : pairing_(pairing),
        servers_(std::move(servers)),
        path_(std::move(path)),
        who_(std::move(who)) {
    Start();
  }
  ~Participant() = default;

  void Start() {
    Note(What::kStart);
    peer_ = std::make_unique<Peer>(pairing_.kind, servers_, kSession);
    peer_->Tell("rounds " + peer_->Make(pairing_.theirs, path_));
  }
  void Kill() {
    peer_->process().Kill();
    Note(What::kKilled);
    absl::SleepFor(absl::Milliseconds(200));  // its last words are in the pipe
    Translate();
    peer_ = nullptr;
  }
  void Pause() {
    peer_->process().Pause();
    Note(What::kPaused);
  }
  void Resume() {
    Note(What::kResumed);
    peer_->process().Resume();
  }
  const std::vector<Event>& events() const { return events_; }
  int64_t grants() const {
    return GrantsOf(events_, who_[0]) + (peer_ == nullptr ? 0 : GrantsOf(*peer_));
  }

 private:
  void Note(What what, int64_t at = history::Now()) {
    events_.push_back({.at = at, .who = who_, .what = what});
  }
  void Translate() {
    const int64_t boot_less_monotonic = BootLessMonotonic();
    Event attempt{.who = who_, .path = path_};
    if (pairing_.reader) attempt.mode = Event::Mode::kShared;
    for (const std::string& line : peer_->lines()) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ');
      int64_t at = 0;
      if (words.size() < 2 || !absl::SimpleAtoi(words[1], &at)) continue;
      if (words[0] == "invoke") {
        attempt.token = attempt.session = 0;
        attempt.node.clear();
        attempt.attempt = ++attempts_;
        attempt.what = What::kInvoke;
      } else if (words[0] == "grant") {
        ReadGrant(words, attempt);
      } else if (attempt.node.empty()) {
        continue;  // what it had was gone before it could say what
      } else {     // what theirs answers is not under test
        attempt.what = words[0] == "release" ? What::kRelease : What::kReleased;
      }
      attempt.at = at + boot_less_monotonic;
      events_.push_back(attempt);
    }
  }

  const Pairing pairing_;
  const std::string servers_;
  const std::string path_;
  const std::string who_;
  int64_t attempts_ = 0;
  std::vector<Event> events_;
  std::unique_ptr<Peer> peer_;
};

class RoundsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto ensemble = testing::LocalEnsemble::Start();
    ASSERT_TRUE(ensemble.ok()) << ensemble.status();
    servers_ = std::make_unique<servers::LocalServers>(*std::move(ensemble));
  }

  void Disturb(history::Crew& crew, std::vector<std::unique_ptr<Participant>>& theirs) {
    const auto rest = [] { absl::SleepFor(kCalm); };
    rest();
    ASSERT_TRUE(crew.Kill(0).ok());
    rest();
    theirs[0]->Kill();
    rest();
    ASSERT_TRUE(crew.Start(0).ok());
    theirs[0]->Start();
    rest();
    theirs[0]->Pause();
    absl::SleepFor(2 * kSession);
    theirs[0]->Resume();
    ASSERT_TRUE(crew.Pause(1).ok());
    absl::SleepFor(2 * kSession);
    ASSERT_TRUE(crew.Resume(1).ok());
    rest();
    for (const int server : {0, 1}) {  // reconnects of all
      ASSERT_TRUE(servers_->Kill(server).ok());
      rest();
      ASSERT_TRUE(servers_->Start(server).ok());
      ASSERT_TRUE(servers::Heal(*servers_, absl::Seconds(60)).ok());
      rest();
    }
  }

  // A whole run, and what the judge finds in it.
  std::vector<history::Violation> Run(const Pairing& pairing);
  void Run(const Pairing& pairing, std::vector<history::Violation>& violations);

  testing::WorkDirectory directory_ = *testing::WorkDirectory::MakeTemporary(/*keep=*/false);
  std::unique_ptr<servers::LocalServers> servers_;
};

std::vector<history::Violation> RoundsTest::Run(const Pairing& pairing) {
  std::vector<history::Violation> violations;
  Run(pairing, violations);
  return violations;
}

void RoundsTest::Run(const Pairing& pairing, std::vector<history::Violation>& violations) {
  const int64_t wall_less_boot = absl::GetCurrentTimeNanos() - history::Now();
  auto crew = history::Crew::Start({.programs = ZKRECIPES_BIN_DIR,
                                    .directory = directory_.path(),
                                    .hosts = std::vector<servers::Host>(kWorkers),
                                    .servers = servers_->list(),
                                    .arguments = pairing.ours,
                                    .session_timeout = kSession});
  ASSERT_TRUE(crew.ok()) << crew.status();
  std::vector<std::unique_ptr<Participant>> theirs;
  for (int i = 0; i < kPeers; ++i) {
    theirs.push_back(std::make_unique<Participant>(
        pairing, servers_->list(), absl::StrCat("/soak/", pairing.child), absl::StrCat("p", i)));
  }
  Disturb(**crew, theirs);
  const auto of_theirs_so_far = [&] { return theirs[0]->grants() + theirs[1]->grants(); };
  const absl::Time tired = absl::Now() + kPatience;
  while (of_theirs_so_far() <= kGrants && absl::Now() < tired)
    absl::SleepFor(absl::Milliseconds(100));
  for (const auto& one : theirs) one->Kill();
  ASSERT_TRUE((*crew)->StopAll().ok());
  history::Limits limits{.wall_less_boot = absl::Nanoseconds(wall_less_boot)};
  std::ofstream(directory_.path() + "/run.json") << history::ToJson(pairing.name, limits);
  const auto files = servers_->TransactionLogs(directory_.path() + "/logs");
  ASSERT_TRUE(files.ok()) << files.status();
  auto run = history::ReadRunDirectory(directory_.path());
  ASSERT_TRUE(run.ok()) << run.status();
  for (const auto& one : theirs) {
    run->events.insert(run->events.end(), one->events().begin(), one->events().end());
  }
  const int64_t of_ours = GrantsOf(run->events, 'w');
  const int64_t of_theirs = GrantsOf(run->events, 'p');
  std::cout << pairing.name << ": " << of_ours << " grants of ours, " << of_theirs
            << " of theirs\n";
  EXPECT_GT(of_ours, kGrants);
  EXPECT_GT(of_theirs, kGrants);
  violations = history::Check(run->events, run->transactions, limits).violations;
}

class TogetherTest : public RoundsTest, public ::testing::WithParamInterface<Pairing> {};
TEST_P(TogetherTest, NeverHasTwoHoldersAndKeepsTheOrder) {
  for (const auto& violation : Run(GetParam())) {
    ADD_FAILURE() << violation.rule << ": " << violation.what;
  }
}

std::vector<std::string> Worker(const std::string& recipe, std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--paths=1", "--loops=2", "--recipes=" + recipe});
  return more;
}

const Pairing kPairings[] = {
    {"mutex", PeerKind::kCurator, "mutex", false, Worker("lock")},
    {"selector_and_lock", PeerKind::kCurator, "selector", false, Worker("lock")},
    {"writer", PeerKind::kCurator, "write", false, Worker("read_write"), "read_write-0"},
    {"reader", PeerKind::kCurator, "read", true, Worker("read_write"), "read_write-0"},
    {"writer_and_lock", PeerKind::kCurator, "write", false, Worker("lock", {"--marker=writer"})},
    {"reader_and_lock", PeerKind::kCurator, "read", true, Worker("lock", {"--marker=writer"})},
    {"latch", PeerKind::kCurator, "latch", false, Worker("election"), "election-0"},
    {"selector", PeerKind::kCurator, "selector", false, Worker("election", {"--marker=lock"}),
     "election-0"},
    {"latch_and_lock", PeerKind::kCurator, "latch", false, Worker("lock", {"--marker=latch"})},
    {"mutex_and_election", PeerKind::kCurator, "mutex", false,
     Worker("election", {"--marker=lock"}), "election-0"},
    {"writer_and_election", PeerKind::kCurator, "write", false,
     Worker("election", {"--marker=writer"}), "election-0"},
    {"reader_and_election", PeerKind::kCurator, "read", true,
     Worker("election", {"--marker=writer"}), "election-0"},
    {"kazoo_lock", PeerKind::kKazoo, "lock", false, Worker("lock", {"--dialect=kazoo"})},
    {"kazoo_lock_with_patterns", PeerKind::kKazoo, "lock+patterns", false,
     Worker("lock", {"--beside-blind"})},
    {"kazoo_writer", PeerKind::kKazoo, "write", false, Worker("read_write", {"--dialect=kazoo"}),
     "read_write-0"},
    {"kazoo_election", PeerKind::kKazoo, "election", false, Worker("election", {"--dialect=kazoo"}),
     "election-0"},
};
INSTANTIATE_TEST_SUITE_P(Beside, TogetherTest, ::testing::ValuesIn(kPairings),
                         [](const auto& pairing) { return std::string(pairing.param.name); });

// The judge would see two holders.
TEST_F(RoundsTest, ShowsTwoHoldersWhereOursIsNotSeen) {
  const auto violations =
      Run({"unseen", PeerKind::kCurator, "write", false, Worker("lock", {"--beside-blind"})});
  EXPECT_THAT(violations,
              ::testing::Contains(::testing::Field(&history::Violation::rule, "zookeeper_order")));
}

}  // namespace
}  // namespace zkrecipes::integration
