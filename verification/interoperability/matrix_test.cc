// SPDX-License-Identifier: Apache-2.0
//
// Every cell of docs/interoperability.md, with the real Curator and kazoo.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "integration/fixtures/client_fixture.h"
#include "verification/interoperability/peer.h"
#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;

enum class Kind { kLock, kWriter, kReader, kElection };
enum class Cell { kExcludes, kDoesNot, kDoesNotUnrefused, kShare };

struct Ours {
  const char* name;
  Kind kind;
  NameDialect dialect = NameDialect::kCurator;
  std::optional<NodeMarker> marker = {};
  bool beside_blind = false;
};

struct Row {
  Ours ours;
  std::vector<std::pair<const char*, Cell>> theirs;
};

class MatrixTest : public ClientTest {
 protected:
  static AcquireOptions OptionsOf(const Ours& ours, bool beside_blind) {
    AcquireOptions options{.dialect = ours.dialect,
                           .beside_blind = beside_blind || ours.beside_blind};
    if (ours.kind == Kind::kLock) options.marker = ours.marker;
    return options;
  }
  void Start(const Ours& ours, const std::string& path, WaitOptions wait, Pending::Done done,
             bool beside_blind) {
    const AcquireOptions options = OptionsOf(ours, beside_blind);
    switch (ours.kind) {
      case Kind::kLock:
        return Lock(client_, path, options).AcquireAsync(std::move(wait), std::move(done));
      case Kind::kWriter:
        return ReadWriteLock(client_, path, options)
            .AcquireExclusiveAsync(std::move(wait), std::move(done));
      case Kind::kReader:
        return ReadWriteLock(client_, path, options)
            .AcquireSharedAsync(std::move(wait), std::move(done));
      case Kind::kElection:
        return LeaderElection(
                   client_, path,
                   {.marker = ours.marker.value_or(NodeMarker::kLatch), .acquire = options})
            .CampaignAsync(std::move(wait), std::move(done));
    }
  }
  std::unique_ptr<Pending> Start(const Ours& ours, bool beside_blind = false) {
    return std::make_unique<Pending>(
        [&](Pending::Done done) { Start(ours, path_, {}, std::move(done), beside_blind); });
  }
  bool QueueHas(size_t size) {
    return Eventually([&] { return Queue(*client_, path_).size() == size; });
  }

  void Try(PeerKind kind, const std::vector<Row>& rows) {
    client_ = NewClient();
    Peer peer(kind, servers());
    for (const Row& row : rows) {
      for (const auto& [recipe, cell] : row.theirs) {
        SCOPED_TRACE(absl::StrCat(row.ours.name, " beside ", recipe));
        path_ = absl::StrCat(node_path(), "-", ++cells_);
        const bool counts_own = kind == PeerKind::kCurator &&
                                (recipe == std::string("read") || (recipe == std::string("write") &&
                                                                   row.ours.kind == Kind::kReader));
        counted_ = counts_own ? 1 : 2;
        Try(row.ours, peer, peer.Make(recipe, path_), cell);
        if (HasFailure()) return;
      }
    }
  }
  void Try(const Ours& ours, Peer& peer, const std::string& id, Cell cell) {
    if (cell == Cell::kExcludes) {
      TheyKeepUsOut(ours, peer, id);
      WeKeepThemOut(ours, peer, id);
    } else {
      BothHold(ours, peer, id, cell);
    }
  }

  void TheyKeepUsOut(const Ours& ours, Peer& peer, const std::string& id) {
    peer.Tell("acquire " + id);
    ASSERT_TRUE(peer.Hears("granted " + id));
    CatchUp(client_);
    const auto waits = Start(ours);
    ASSERT_TRUE(QueueHas(2)) << "ours does not list theirs";
    EXPECT_FALSE(waits->answered());
    peer.Tell("count " + id);
    EXPECT_TRUE(peer.Hears(absl::StrCat("counted ", id, " ", counted_)))
        << "theirs does not list ours";
    EXPECT_FALSE(waits->answered());
    peer.Tell("release " + id);
    EXPECT_TRUE(waits->Get().ok());
    EXPECT_TRUE(peer.Hears("released " + id));
  }
  // Theirs has its node while ours holds, and is granted once that is gone.
  void WeKeepThemOut(const Ours& ours, Peer& peer, const std::string& id) {
    absl::StatusOr<Lease> lease = Start(ours)->Get();
    ASSERT_TRUE(lease.ok()) << lease.status();
    peer.Tell("acquire " + id);
    ASSERT_TRUE(QueueHas(2));
    absl::SleepFor(absl::Milliseconds(100));  // for a grant that must not come
    EXPECT_FALSE(peer.HasSaid("granted " + id));
    EXPECT_TRUE((*std::move(lease)).Release().ok());
    EXPECT_TRUE(peer.Hears("granted " + id));
    peer.Tell("release " + id);
    EXPECT_TRUE(peer.Hears("released " + id));
  }
  // Ours first: it would wait for theirs.
  void BothHold(const Ours& ours, Peer& peer, const std::string& id, Cell cell) {
    const absl::StatusOr<Lease> lease = Start(ours)->Get();
    ASSERT_TRUE(lease.ok()) << lease.status();
    peer.Tell("acquire " + id);
    ASSERT_TRUE(peer.Hears("granted " + id));
    EXPECT_EQ(lease->Verify(), absl::OkStatus());
    CatchUp(client_);
    const auto second = Start(ours);
    if (cell == Cell::kDoesNot) {
      const absl::Status refused = second->Get().status();
      EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
      EXPECT_THAT(std::string(refused.message()), HasSubstr("refused beside "));
    } else if (cell == Cell::kShare) {
      EXPECT_TRUE(second->Get().ok());
    }
    peer.Tell("release " + id);
    EXPECT_TRUE(peer.Hears("released " + id));
    if (cell == Cell::kDoesNotUnrefused) {
      EXPECT_TRUE(second->Get().ok());
    }
  }

  std::shared_ptr<Client> client_;
  std::string path_;
  int cells_ = 0;
  int counted_ = 2;  // Curator's reader lists readers only, its writer writers
};

using enum Cell;
constexpr NameDialect kKazoo = NameDialect::kKazoo;

TEST_F(MatrixTest, IsTrueOfCurator) {
  Try(PeerKind::kCurator,
      {{{"Lock", Kind::kLock},
        {{"mutex", kExcludes},
         {"write", kDoesNot},
         {"read", kDoesNot},
         {"semaphore", kDoesNot},
         {"latch", kDoesNot},
         {"selector", kExcludes}}},
       {{"Lock as writer", Kind::kLock, NameDialect::kCurator, NodeMarker::kWriter},
        {{"write", kExcludes}, {"read", kExcludes}, {"mutex", kDoesNot}}},
       {{"Lock as latch", Kind::kLock, NameDialect::kCurator, NodeMarker::kLatch},
        {{"latch", kExcludes}, {"selector", kDoesNot}}},
       {{"writer", Kind::kWriter},
        {{"mutex", kDoesNot},
         {"write", kExcludes},
         {"read", kExcludes},
         {"semaphore", kDoesNot},
         {"latch", kDoesNot},
         {"selector", kDoesNot}}},
       {{"reader", Kind::kReader},
        {{"mutex", kDoesNot},
         {"write", kExcludes},
         {"read", kShare},
         {"semaphore", kDoesNot},
         {"latch", kDoesNot},
         {"selector", kDoesNot}}},
       {{"election", Kind::kElection},
        {{"mutex", kDoesNot},
         {"write", kDoesNot},
         {"read", kDoesNot},
         {"semaphore", kDoesNot},
         {"latch", kExcludes},
         {"selector", kDoesNot}}},
       {{"election as lock", Kind::kElection, NameDialect::kCurator, NodeMarker::kLock},
        {{"mutex", kExcludes}, {"selector", kExcludes}, {"latch", kDoesNot}}},
       {{"election as writer", Kind::kElection, NameDialect::kCurator, NodeMarker::kWriter},
        {{"write", kExcludes}, {"read", kExcludes}}},
       {{"Lock in kazoo's dialect", Kind::kLock, kKazoo},
        {{"mutex", kDoesNot},
         {"write", kDoesNot},
         {"latch", kDoesNot},
         {"selector", kDoesNot},
         {"semaphore", kDoesNot}}}});
}

TEST_F(MatrixTest, IsTrueOfKazoo) {
  Try(PeerKind::kKazoo,
      {{{"Lock", Kind::kLock, kKazoo},
        {{"lock", kExcludes}, {"election", kExcludes}, {"write", kExcludes}, {"read", kExcludes}}},
       {{"writer", Kind::kWriter, kKazoo},
        {{"lock", kExcludes}, {"election", kExcludes}, {"write", kExcludes}, {"read", kExcludes}}},
       {{"election", Kind::kElection, kKazoo},
        {{"lock", kExcludes}, {"election", kExcludes}, {"write", kExcludes}, {"read", kExcludes}}},
       {{"reader", Kind::kReader, kKazoo},
        {{"lock", kDoesNotUnrefused},
         {"election", kDoesNotUnrefused},
         {"write", kExcludes},
         {"read", kShare}}},
       {{"Lock in Curator's dialect", Kind::kLock},
        {{"lock", kDoesNot}, {"election", kDoesNot}, {"write", kDoesNot}, {"read", kDoesNot}}},
       {{"Lock that knows better", Kind::kLock, NameDialect::kCurator, {}, true},
        {{"lock+patterns", kExcludes}, {"write+patterns", kExcludes}}},
       {{"reader that knows better", Kind::kReader, NameDialect::kCurator, {}, true},
        {{"lock+patterns", kExcludes}, {"write+patterns", kExcludes}}},
       {{"election that knows better", Kind::kElection, NameDialect::kCurator, {}, true},
        {{"lock+patterns", kExcludes}}}});
}

}  // namespace
}  // namespace zkrecipes::integration
