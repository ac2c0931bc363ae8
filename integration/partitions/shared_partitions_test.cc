// SPDX-License-Identifier: Apache-2.0
//
// Partitions among members on real servers: what is interrupted, and how long what moves takes.

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/forked_child.h"
#include "lib/base/mutex.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::integration {
namespace {

// Of all members: who works on what, and how often that began and ended. Thread-safe.
class Ledger {
 public:
  void Begin(const std::string& name, const std::string& member) {
    base::MutexLock lock(mutex_);
    std::optional<std::string>& owner = owners_[name];
    EXPECT_EQ(owner, std::nullopt) << name << " has two owners";
    if (last_.contains(name) && last_[name] != member) ++moves_[name];
    owner = last_[name] = member;
    last_begin_ = absl::Now();
  }
  void End(const std::string& name) {
    base::MutexLock lock(mutex_);
    owners_[name].reset();
    ++ended_;
  }
  size_t Of(const std::string& member) {
    base::MutexLock lock(mutex_);
    return static_cast<size_t>(
        std::ranges::count_if(owners_, [&](const auto& o) { return o.second == member; }));
  }
  size_t owned() {
    base::MutexLock lock(mutex_);
    return static_cast<size_t>(
        std::ranges::count_if(owners_, [](const auto& o) { return o.second.has_value(); }));
  }
  int ended() {
    base::MutexLock lock(mutex_);
    return ended_;
  }
  absl::Time last_begin() {
    base::MutexLock lock(mutex_);
    return last_begin_;
  }
  void ForgetMoves() {
    base::MutexLock lock(mutex_);
    moves_.clear();
  }
  // How many names have moved so often.
  std::map<int, int> Moves() {
    base::MutexLock lock(mutex_);
    std::map<int, int> counts;
    for (const auto& [name, moves] : moves_) ++counts[moves];
    return counts;
  }

 private:
  base::Mutex mutex_;
  std::map<std::string, std::optional<std::string>> owners_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> last_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> moves_ ABSL_GUARDED_BY(mutex_);
  int ended_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_begin_ ABSL_GUARDED_BY(mutex_);
};

// A member in events, whose work ends at once when it is asked to.
class Service {
 public:
  Service(std::shared_ptr<Client> client, const std::string& path, int count, std::string id,
          Ledger& ledger, absl::Duration first_wait = absl::Seconds(1))
      : id_(std::move(id)), ledger_(ledger) {
    auto started = Partitions(std::move(client), path, count, {.id = id_, .first_wait = first_wait})
                       .Start({.on_gained = [this](OwnedPartition one) { Gain(std::move(one)); },
                               .on_change =
                                   [this](const PartitionsReport& report) {
                                     base::MutexLock lock(mutex_);
                                     report_ = report;
                                   }});
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) running_.emplace(*std::move(started));
  }
  // Work is told on the executor to end, and uses this object: it is over once Leave has returned.
  ~Service() {
    if (!running_.has_value()) return;
    EXPECT_EQ(Leave(), absl::OkStatus());
  }
  absl::Status Leave() { return std::move(*std::exchange(running_, std::nullopt)).Leave(); }
  // Has what it should have.
  bool settled() {
    base::MutexLock lock(mutex_);
    return report_.members > 0 && report_.waited_for == 0 && report_.owned == report_.assigned;
  }
  PartitionsReport report() {
    base::MutexLock lock(mutex_);
    return report_;
  }

 private:
  struct Work {
    explicit Work(OwnedPartition its) : partition(std::move(its)) {}
    OwnedPartition partition;
    std::optional<std::stop_callback<std::function<void()>>> on_end;
  };

  void Gain(OwnedPartition partition) {
    EXPECT_TRUE(partition.lease().believed());
    const std::string name = partition.name();
    ledger_.Begin(name, id_);
    auto work = std::make_shared<Work>(std::move(partition));
    const std::stop_token end = work->partition.end();
    {
      base::MutexLock lock(mutex_);
      works_[name] = work;
    }
    work->on_end.emplace(end, [this, name] { End(std::string(name)); });
  }
  void End(std::string name) {
    std::shared_ptr<Work> work;
    {
      base::MutexLock lock(mutex_);
      work = std::move(works_[name]);
    }
    ledger_.End(name);
  }

  const std::string id_;
  Ledger& ledger_;
  base::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Work>> works_ ABSL_GUARDED_BY(mutex_);
  PartitionsReport report_ ABSL_GUARDED_BY(mutex_);
  std::optional<Partitions::Running> running_;  // destroyed first
};

class SharedPartitionsTest : public ClientTest {
 protected:
  // Long: a stall of the machine must cost no lease.
  static constexpr absl::Duration kTimeout = absl::Seconds(10);
  // However slowly processes start, all members of a cold start begin with the same view.
  static constexpr absl::Duration kFirstWait = absl::Seconds(5);

  Service& Start(const std::string& id, int count) {
    services_.push_back(std::make_unique<Service>(NewClient({.session_timeout = kTimeout}),
                                                  node_path(), count, id, ledger_, kFirstWait));
    return *services_.back();
  }
  bool Settled(size_t members) {
    return std::ranges::all_of(services_, [members](const auto& service) {
      return service == nullptr ||
             (service->settled() && service->report().members == static_cast<int>(members));
    });
  }

  Ledger ledger_;
  std::vector<std::unique_ptr<Service>> services_;
};

TEST_F(SharedPartitionsTest, OfAKilledMemberAreTakenAndNoOtherWorkIsInterrupted) {
  constexpr int kCount = 16;
  ForkedChild victim([this](Line& line) {
    Ledger ledger;
    const Service service(NewClient({.session_timeout = kTimeout}), node_path(), kCount, "d",
                          ledger, kFirstWait);
    (void)Eventually([&] { return ledger.owned() == 4; });
    line.Say();
    absl::SleepFor(absl::Minutes(1));
  });
  for (const char* id : {"a", "b", "c"}) Start(id, kCount);
  ASSERT_TRUE(victim.line().Hear());
  ASSERT_TRUE(Eventually([&] { return ledger_.owned() == 12 && Settled(4); }));
  EXPECT_EQ(ledger_.ended(), 0) << "all began with the same view";
  auto raw = Connect();
  const std::string members = node_path() + "/members";
  kill(victim.pid(), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return raw->Do(zk::GetChildren{members}).children.size() == 3; }));
  const absl::Time session_ended = absl::Now();
  ASSERT_TRUE(Eventually([&] { return ledger_.owned() == kCount; }));
  const absl::Duration took = ledger_.last_begin() - session_ended;
  printf("16 partitions, one of 4 members killed: all owned %s after its session's end was seen\n",
         absl::FormatDuration(took).c_str());
  EXPECT_LT(took, kTimeout);
  EXPECT_EQ(ledger_.ended(), 0) << "of the twelve";

  const absl::Time began = absl::Now();
  Start("e", kCount);
  ASSERT_TRUE(Eventually([&] { return ledger_.Of("e") == 4; }));
  const absl::Duration joined = ledger_.last_begin() - began;
  printf("a further member had its share after %s, with its connection\n",
         absl::FormatDuration(joined).c_str());
  EXPECT_LT(joined, kTimeout);
  ASSERT_TRUE(Eventually([&] { return ledger_.owned() == kCount && Settled(4); }));
  EXPECT_GE(ledger_.ended(), 4);
  EXPECT_LE(ledger_.ended(), 8) << "the others move for the sake of an exact balance";
}

using ManyPartitionsTest = SharedPartitionsTest;

TEST_F(ManyPartitionsTest, AreBalancedSoonAndMoveAtMostTwiceInARollingRestart) {
  constexpr size_t kMembers = 50;
  constexpr int kCount = 1000;
  const auto id_of = [](size_t i) { return absl::StrCat("member-", i); };
  std::vector<std::shared_ptr<Client>> clients;
  for (size_t i = 0; i < kMembers; ++i)
    clients.push_back(NewClient({.session_timeout = absl::Seconds(20)}));
  const absl::Time began = absl::Now();
  for (size_t i = 0; i < kMembers; ++i) {
    services_.push_back(
        std::make_unique<Service>(clients[i], node_path(), kCount, id_of(i), ledger_));
  }
  ASSERT_TRUE(Eventually([&] { return ledger_.owned() == kCount && Settled(kMembers); }));
  printf("%d partitions on %zu members: balanced %s after a cold start, the last began after %s\n",
         kCount, kMembers, absl::FormatDuration(absl::Now() - began).c_str(),
         absl::FormatDuration(ledger_.last_begin() - began).c_str());
  for (size_t i = 0; i < kMembers; ++i) EXPECT_EQ(ledger_.Of(id_of(i)), kCount / kMembers);
  printf("%d were ended meanwhile\n", ledger_.ended());

  ledger_.ForgetMoves();
  const absl::Time restart = absl::Now();
  for (size_t i = 0; i < kMembers; ++i) {
    EXPECT_EQ(services_[i]->Leave(), absl::OkStatus());
    services_[i] = nullptr;
    ASSERT_TRUE(Eventually([&] { return ledger_.owned() == kCount && Settled(kMembers - 1); }));
    services_[i] = std::make_unique<Service>(clients[i], node_path(), kCount, id_of(i), ledger_);
    ASSERT_TRUE(Eventually([&] { return ledger_.owned() == kCount && Settled(kMembers); }));
  }
  printf("all restarted within %s\n", absl::FormatDuration(absl::Now() - restart).c_str());
  for (const auto& [moves, names] : ledger_.Moves()) {
    printf("%d partitions moved %d times\n", names, moves);
    EXPECT_LE(moves, 2);
  }
}

}  // namespace
}  // namespace zkrecipes::integration
