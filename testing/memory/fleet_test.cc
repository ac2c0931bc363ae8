// SPDX-License-Identifier: Apache-2.0
//
// Many clients that lose their connections in the same instant, and servers that take their time.

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/session/client/client_core.h"
#include "testing/memory/simulation.h"

namespace zkrecipes::testing::memory {
namespace {

constexpr absl::Duration kQuantum = absl::Milliseconds(10);
constexpr absl::Duration kBin = absl::Milliseconds(100);

// Clients of three servers, of which the test says how they answer handshakes.
class Fleet {
 public:
  Fleet(int clients, absl::Duration session_timeout) {
    for (int i = 0; i < clients; ++i) {
      hosts_.push_back(simulation_.AddHost());
      cores_.push_back(simulation_.NewClient(hosts_.back(), {.session_timeout = session_timeout}));
      cores_.back()->Start([](const absl::Status&) {});
    }
  }

  // A handshake is read this long after the connection was made, or later,
  absl::Duration handshake;
  // and the servers together read so many in a quantum, in the order of arrival.
  int capacity = 1'000'000;
  std::set<int> silent;  // servers that read none

  ModelEnsemble& model() { return simulation_.ensemble(); }
  base::BootTime now() const { return simulation_.now(); }

  void Pass(absl::Duration d) {
    for (const base::BootTime until = now() + d; now() < until;) PassQuantum();
  }
  // How long it takes until all are connected.
  absl::Duration PassUntilConnected(absl::Duration longest) {
    const base::BootTime begin = now();
    while (connected() < hosts_.size() && now() - begin < longest) PassQuantum();
    return now() - begin;
  }
  size_t connected() const {
    return static_cast<size_t>(std::count_if(hosts_.begin(), hosts_.end(), [](const auto& host) {
      return host->ConnectedTo().has_value();
    }));
  }
  // So many are connected to this server.
  size_t at(int server) const {
    return static_cast<size_t>(std::ranges::count_if(
        hosts_, [server](const auto& host) { return host->ConnectedTo() == server; }));
  }
  void BreakAll() {
    for (const ConnectionId id : model().connections()) {
      if (model().Exists(id)) model().DropUnread(id);
    }
  }
  void BeginElection() {
    electing_ = true;
    model().CutOff(model().leader(), now());  // otherwise it would end sessions
    BreakAll();
  }
  void EndElection() {
    electing_ = false;
    model().Heal(model().leader(), now());  // elects it, which gives each session its whole timeout
  }

  int sessions_opened() {
    const auto& log = model().history();
    return static_cast<int>(std::count_if(log.begin(), log.end(), [](const Transaction& txn) {
      return txn.kind == Transaction::Kind::kOpenSession;
    }));
  }
  // Of the first so many, which have these numbers.
  int sessions_lost() {
    int lost = 0;
    for (size_t i = 0; i < hosts_.size(); ++i) {
      lost += model().SessionLives(0x1001 + static_cast<zk::SessionId>(i)) ? 0 : 1;
    }
    return lost;
  }

  // Attempts to connect, for each `kBin` since.
  void CountFromNow() {
    counted_from_ = now();
    before_ = model().connections_made();
    attempts_.clear();
  }
  const std::vector<int>& attempts() const { return attempts_; }

 private:
  void PassQuantum() {
    simulation_.SetTime(now() + kQuantum);
    left_ = capacity;
    while (RunSome()) continue;
    const auto bin = static_cast<size_t>((now() - counted_from_) / kBin);
    attempts_.resize(std::max(attempts_.size(), bin + 1));
    const ConnectionId made = model().connections_made();
    attempts_[bin] += static_cast<int>(made - std::exchange(before_, made));
  }

  bool RunSome() {
    if (electing_) BreakAll();
    steps_.clear();
    simulation_.ListSteps(steps_);
    bool any = false;
    for (const Step& step : steps_) {
      if (!MayRun(step)) continue;
      simulation_.Run(step);
      any = true;
    }
    return any;
  }

  // An earlier step may have made it impossible.
  bool MayRun(const Step& step) {
    switch (step.kind) {
      case Step::Kind::kAdvance:
        return false;
      case Step::Kind::kCallback:
        return step.which == 0;
      case Step::Kind::kExecute:
        return model().Exists(step.who) && model().CanExecute(step.who) && MayExecute(step.who);
      case Step::Kind::kCommit:
        return model().CanCommit();
      case Step::Kind::kApply:
        return model().CanApply(static_cast<int>(step.who));
      default:
        return true;
    }
  }

  bool MayExecute(ConnectionId id) {
    if (!std::holds_alternative<wire::Hello>(*model().NextOf(id))) return true;
    if (silent.count(model().ServerOf(id)) > 0) return false;
    const base::BootTime arrived = arrivals_.try_emplace(id, now()).first->second;
    if (now() - arrived < handshake || left_ == 0) return false;
    --left_;
    return true;
  }

  // Servers do not give up without a leader; that they hang up is said by BreakAll.
  Simulation simulation_{{.sync_limit = 10'000, .keep_history = true}};
  std::vector<std::shared_ptr<Host>> hosts_;
  std::vector<std::shared_ptr<internal::ClientCore>> cores_;
  std::vector<Step> steps_;
  bool electing_ = false;  // servers hang up at once
  std::map<ConnectionId, base::BootTime> arrivals_;
  int left_ = 0;
  base::BootTime counted_from_;
  ConnectionId before_ = 0;
  std::vector<int> attempts_;
};

struct Figures {
  int peak_without_leader = 0;  // attempts in any 100 ms
  int peak_since = 0;
  int total = 0;
  absl::Duration return_takes;  // from the end of the election until all are connected
  int lost = 0;                 // sessions
};

constexpr int kClients = 1000;

Figures AfterAnElection(absl::Duration timeout, absl::Duration election, int capacity,
                        int clients = kClients) {
  Fleet fleet(clients, timeout);
  fleet.PassUntilConnected(absl::Seconds(10));
  fleet.Pass(absl::Seconds(2));
  fleet.capacity = capacity;
  fleet.CountFromNow();
  fleet.BeginElection();
  fleet.Pass(election);
  fleet.EndElection();
  const size_t bins = fleet.attempts().size();
  Figures figures;
  figures.return_takes = fleet.PassUntilConnected(absl::Seconds(20));
  figures.lost = fleet.sessions_lost();
  for (size_t i = 0; i < fleet.attempts().size(); ++i) {
    int& peak = i < bins ? figures.peak_without_leader : figures.peak_since;
    peak = std::max(peak, fleet.attempts()[i]);
    figures.total += fleet.attempts()[i];
  }
  return figures;
}

// The figures are in docs/adr/0026.
TEST(Fleet, SpreadsItsAttemptsOverAnElectionAndIsBackSoonAfter) {
  const Figures figures = AfterAnElection(absl::Seconds(10), absl::Seconds(3), /*capacity=*/10);
  EXPECT_LE(figures.peak_without_leader, kClients * 6 / 10);
  EXPECT_LE(figures.peak_since, kClients * 2 / 10);
  EXPECT_LE(figures.total, kClients * 7);
  EXPECT_LE(figures.return_takes, absl::Milliseconds(1500));
  EXPECT_EQ(figures.lost, 0);
}

// Otherwise answers come to clients that have given up, which stand at the end of the queue again.
TEST(Fleet, IsBackThoughItsHandshakesQueueForLongerThanAnAttemptIsGivenAtFirst) {
  const Figures figures =
      AfterAnElection(absl::Seconds(4), absl::Seconds(10), /*capacity=*/1, kClients / 3);
  EXPECT_LE(figures.return_takes, absl::Seconds(8));
  EXPECT_EQ(figures.lost, 0);
}

absl::Duration ConnectsIn(absl::Duration handshake, absl::Duration timeout) {
  Fleet fleet(1, timeout);
  fleet.handshake = handshake;
  return fleet.PassUntilConnected(10 * timeout);
}

TEST(Fleet, AClientConnectsToServersThatTakeAThirdOrHalfOfTheSessionTimeoutToAnswer) {
  EXPECT_LE(ConnectsIn(absl::Seconds(19), absl::Seconds(60)), absl::Seconds(60));
  EXPECT_LE(ConnectsIn(absl::Seconds(20), absl::Seconds(60)), absl::Seconds(180));
  EXPECT_LE(ConnectsIn(absl::Seconds(2), absl::Seconds(4)), absl::Seconds(8));
}

TEST(Fleet, OneSilentServerOfThreeCostsNoSession) {
  for (const int seconds : {4, 10, 60}) {
    Fleet fleet(30, absl::Seconds(seconds));
    fleet.PassUntilConnected(absl::Seconds(1));
    fleet.silent = {0};
    fleet.BreakAll();
    EXPECT_LE(fleet.PassUntilConnected(absl::Minutes(1)), absl::Seconds(seconds) / 2);
    EXPECT_EQ(fleet.sessions_lost(), 0);
  }
}

// The follower of a third of them stands still. They find out by the next read, which idle sessions
// send at times of their own, and so arrive at the other two servers one after another.
TEST(Fleet, TheClientsOfAServerThatStandsStillArriveSpreadOut) {
  Fleet fleet(kClients, absl::Seconds(10));
  fleet.PassUntilConnected(absl::Seconds(10));
  fleet.Pass(absl::Seconds(5));
  const size_t there = fleet.at(1);
  EXPECT_GT(there, kClients / 4u);
  fleet.model().StandStill(1, true, fleet.now());
  fleet.CountFromNow();
  fleet.Pass(absl::Seconds(8));
  EXPECT_EQ(fleet.connected(), size_t{kClients});
  EXPECT_EQ(fleet.at(1), 0u);
  EXPECT_EQ(fleet.sessions_lost(), 0);
  EXPECT_LE(*std::ranges::max_element(fleet.attempts()), static_cast<int>(there) / 3);
  EXPECT_LE(std::accumulate(fleet.attempts().begin(), fleet.attempts().end(), 0),
            2 * static_cast<int>(there));
}

// The log's disk stands still: sessions are proposed, and none is agreed on until it goes on.
int LeftBehindByAStall(absl::Duration timeout, absl::Duration stall) {
  Fleet fleet(1, timeout);
  for (const int follower : {1, 2}) fleet.model().Stall(follower, false, true, fleet.now());
  fleet.Pass(stall);
  for (const int follower : {1, 2}) fleet.model().Stall(follower, false, false, fleet.now());
  fleet.PassUntilConnected(2 * timeout);
  return fleet.sessions_opened() - 1;
}

// Three for each length that an attempt may have, and then about one in a session timeout.
TEST(Fleet, AClientLeavesFewSessionsBehindWhenADiskStalls) {
  EXPECT_LE(LeftBehindByAStall(absl::Seconds(60), absl::Minutes(1)), 6);
  EXPECT_LE(LeftBehindByAStall(absl::Seconds(60), absl::Minutes(10)), 6 + 15) << "as with 40 s";
  EXPECT_LE(LeftBehindByAStall(absl::Seconds(4), absl::Minutes(1)), 3 + 18);
}

}  // namespace
}  // namespace zkrecipes::testing::memory
