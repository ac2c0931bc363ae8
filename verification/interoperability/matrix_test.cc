// SPDX-License-Identifier: Apache-2.0
//
// Every cell of docs/interoperability.md, with the real Curator and kazoo.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
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

// What each of theirs does beside ours, by their recipes' names.
struct Row {
  Ours ours;
  const char* excludes = "";
  const char* does_not = "";
  const char* does_not_unrefused = "";
  const char* share = "";
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
      for (const auto& [recipes, cell] : {std::pair(row.excludes, Cell::kExcludes),
                                          {row.does_not, Cell::kDoesNot},
                                          {row.does_not_unrefused, Cell::kDoesNotUnrefused},
                                          {row.share, Cell::kShare}}) {
        for (const absl::string_view recipe : absl::StrSplit(recipes, ' ', absl::SkipEmpty())) {
          SCOPED_TRACE(absl::StrCat(row.ours.name, " beside ", recipe));
          path_ = absl::StrCat(node_path(), "-", ++cells_);
          const bool counts_own =
              kind == PeerKind::kCurator &&
              (recipe == "read" || (recipe == "write" && row.ours.kind == Kind::kReader));
          counted_ = counts_own ? 1 : 2;
          Try(row.ours, peer, peer.Make(std::string(recipe), path_), cell);
          if (HasFailure()) return;
        }
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

constexpr NameDialect kKazoo = NameDialect::kKazoo;
constexpr NameDialect kCurator = NameDialect::kCurator;

TEST_F(MatrixTest, IsTrueOfCurator) {
  Try(PeerKind::kCurator,
      {{.ours = {"Lock", Kind::kLock},
        .excludes = "mutex selector",
        .does_not = "write read semaphore latch"},
       {.ours = {"Lock as writer", Kind::kLock, kCurator, NodeMarker::kWriter},
        .excludes = "write read",
        .does_not = "mutex"},
       {.ours = {"Lock as latch", Kind::kLock, kCurator, NodeMarker::kLatch},
        .excludes = "latch",
        .does_not = "selector"},
       {.ours = {"writer", Kind::kWriter},
        .excludes = "write read",
        .does_not = "mutex semaphore latch selector"},
       {.ours = {"reader", Kind::kReader},
        .excludes = "write",
        .does_not = "mutex semaphore latch selector",
        .share = "read"},
       {.ours = {"election", Kind::kElection},
        .excludes = "latch",
        .does_not = "mutex write read semaphore selector"},
       {.ours = {"election as lock", Kind::kElection, kCurator, NodeMarker::kLock},
        .excludes = "mutex selector",
        .does_not = "latch"},
       {.ours = {"election as writer", Kind::kElection, kCurator, NodeMarker::kWriter},
        .excludes = "write read"},
       {.ours = {"Lock in kazoo's dialect", Kind::kLock, kKazoo},
        .does_not = "mutex write latch selector semaphore"}});
}

TEST_F(MatrixTest, IsTrueOfKazoo) {
  Try(PeerKind::kKazoo,
      {{.ours = {"Lock", Kind::kLock, kKazoo}, .excludes = "lock election write read"},
       {.ours = {"writer", Kind::kWriter, kKazoo}, .excludes = "lock election write read"},
       {.ours = {"election", Kind::kElection, kKazoo}, .excludes = "lock election write read"},
       {.ours = {"reader", Kind::kReader, kKazoo},
        .excludes = "write",
        .does_not_unrefused = "lock election",
        .share = "read"},
       {.ours = {"Lock in Curator's dialect", Kind::kLock}, .does_not = "lock election write read"},
       {.ours = {"Lock that knows better", Kind::kLock, kCurator, {}, true},
        .excludes = "lock+patterns write+patterns"},
       {.ours = {"reader that knows better", Kind::kReader, kCurator, {}, true},
        .excludes = "lock+patterns write+patterns"},
       {.ours = {"election that knows better", Kind::kElection, kCurator, {}, true},
        .excludes = "lock+patterns"}});
}

}  // namespace
}  // namespace zkrecipes::integration
