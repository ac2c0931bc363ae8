// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_ELECTION_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_ELECTION_FIXTURE_H_

#include <atomic>
#include <memory>
#include <optional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "integration/fixtures/zk_fixture.h"
#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/leader_election.h"

namespace zkrecipes::integration {

// "id=value" of a leader, "nobody", or the code of an error.
std::string TextOf(const absl::StatusOr<std::optional<Leader>>& news);

// What Observe tells, in order. Thread-safe except End.
class Told {
 public:
  explicit Told(LeaderElection election)
      : subscription_(election.Observe(
            [journal = journal_](const auto& news) { journal->Add(TextOf(news)); })) {}

  std::vector<std::string> texts() const { return journal_->lines(); }
  bool Are(const std::vector<std::string>& expected) const { return texts() == expected; }
  bool EndWith(const std::string& text) const {
    const std::vector<std::string> now = texts();
    return !now.empty() && now.back() == text;
  }
  void End() { subscription_ = Subscription(); }

 private:
  const std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  Subscription subscription_;
};

// A thread in RunWhileLeading. Its work lasts until the lease is lost or it is told to stop; while it
// is brief, the work returns at once.
class WorkThread {
 public:
  explicit WorkThread(LeaderElection election);
  ~WorkThread() { (void)Stop(); }

  int terms() const { return terms_; }
  bool working() const { return working_; }
  bool ended() const { return ended_; }
  // Of the current term: read it when terms() has changed and before it does again.
  const std::string& node() const { return node_; }
  void set_brief(bool brief);
  void RequestStop() { stop_.request_stop(); }
  // Waits for the thread, which may be waiting for the world's time.
  absl::Status Stop();

 private:
  void Work(const Lease& lease);

  LeaderElection election_;
  std::stop_source stop_;
  std::atomic<int> terms_ = 0;
  std::atomic<bool> brief_ = false, working_ = false, ended_ = false;
  std::counting_semaphore<> changes_{0};  // of what may end the work
  FencingToken term_;
  std::string node_;
  absl::Status status_;
  std::thread thread_;
};

class ElectionTest : public WorldTest {
 protected:
  using WorldTest::Queued;
  using WorldTest::WorldTest;

  LeaderElection Election(const std::shared_ptr<Client>& client, const std::string& id = "",
                          const std::string& value = "") {
    return LeaderElection(client, path(), {id, value});
  }
  static Pending Campaigning(LeaderElection election, WaitOptions wait = {});
  Pending Queued(LeaderElection election, size_t place) {
    return Queued(Campaigning(std::move(election)), place);
  }
  Lease Elected(LeaderElection election);

  bool AwaitTold(const Told& told, const std::vector<std::string>& expected);
  bool AwaitLast(const Told& told, const std::string& text) {
    return world().Await([&] { return told.EndWith(text); });
  }
  // Other servers than the leader's hear of a change a moment later.
  bool AwaitLeader(const std::shared_ptr<Client>& client, const std::string& id);
  bool AwaitLost(const Lease& lease) {
    return world().Await([&] { return lease.lost().stop_requested(); });
  }

  // In its `terms`th term, or a later one.
  bool AwaitWork(const WorkThread& worker, int terms = 1) {
    return world().Await([&] { return worker.working() && worker.terms() >= terms; });
  }
  void ExpectStops(WorkThread& worker);
};

class ElectionInAWorld : public ElectionTest {
 protected:
  ElectionInAWorld() : ElectionTest(kNoOwnWatches) {}
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_ELECTION_FIXTURE_H_
