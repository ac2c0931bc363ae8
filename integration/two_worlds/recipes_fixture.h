// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_RECIPES_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_RECIPES_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "integration/fixtures/zk_fixture.h"
#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {

// "id=value" of a leader, "nobody", or the code of an error.
inline std::string TextOf(const absl::StatusOr<std::optional<Leader>>& news) {
  if (!news.ok()) return absl::StatusCodeToString(news.status().code());
  if (!news->has_value()) return "nobody";
  return absl::StrCat((*news)->owner.id, "=", (*news)->value);
}

// The states that Observe reports, in order. Thread-safe except End.
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

class ElectionInAWorld : public WorldTest {
 protected:
  using WorldTest::Queued;
  ElectionInAWorld() : WorldTest(kNoOwnWatches) {}

  LeaderElection Election(const std::shared_ptr<Client>& client, const std::string& id = "",
                          const std::string& value = "") {
    return LeaderElection(client, path(), {id, value});
  }
  Pending Queued(const LeaderElection& election, size_t place) {
    return Queued(Pending(election), place);
  }
  Lease Elected(const LeaderElection& election) {
    Pending pending(election);
    return Granted(pending);
  }

  bool AwaitTold(const Told& told, const std::vector<std::string>& expected) {
    if (world().Await([&] { return told.Are(expected); })) return true;
    EXPECT_EQ(told.texts(), expected);
    return false;
  }
  bool AwaitLast(const Told& told, const std::string& text) {
    return world().Await([&] { return told.EndWith(text); });
  }
  // Other servers than the leader's hear of a change a moment later.
  bool AwaitLeader(const std::shared_ptr<Client>& client, const std::string& id) {
    return world().Await([&] {
      // Without a connection it waits for one, and so for the world's time.
      const auto leader = Result(Elsewhere([&] { return Election(client).CurrentLeader(); }));
      return leader.ok() && leader->has_value() && (*leader)->owner.id == id;
    });
  }
  bool AwaitLost(const Lease& lease) {
    return world().Await([&] { return lease.ended().stop_requested(); });
  }
};

// Readers and writers of path().
class ReadWriteTest : public WorldTest {
 protected:
  using WorldTest::WorldTest;

  ReadWriteLock LockOf(const std::shared_ptr<Client>& client) { return {client, path()}; }
  ReadWriteLock lock() { return LockOf(client_); }

  Pending Read(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    return Pending(
        [&](auto done) { LockOf(client).AcquireSharedAsync(std::move(wait), std::move(done)); });
  }
  Pending Write(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    return Pending(
        [&](auto done) { LockOf(client).AcquireExclusiveAsync(std::move(wait), std::move(done)); });
  }
  Pending Read() { return Read(client_); }
  Pending Write() { return Write(client_); }

  Lease Reading(const std::shared_ptr<Client>& client) {
    Pending reader = Read(client);
    return Granted(reader);
  }
  Lease Writing(const std::shared_ptr<Client>& client) {
    Pending writer = Write(client);
    return Granted(writer);
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_RECIPES_FIXTURE_H_
