// SPDX-License-Identifier: Apache-2.0
//
// The answers to those who ask for a leader or observe it, also as other libraries' suites play
// it, and which watches that takes, in every world.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "integration/two_worlds/recipes_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;

using ObserversInAWorld = ElectionInAWorld;

TEST_F(ElectionInAWorld, AnObserverHearsOfLeadersValuesAndVacancy) {
  auto observing = NewClient();
  const Told told(Election(observing));
  ASSERT_TRUE(AwaitTold(told, {"nobody"}));
  std::optional<Lease> lease = Elected(Election(client_, "a", "1"));
  ASSERT_TRUE(AwaitTold(told, {"nobody", "a=1"}));
  ASSERT_EQ(Election(client_).Proclaim(*lease, "2"), absl::OkStatus());
  ASSERT_TRUE(AwaitTold(told, {"nobody", "a=1", "a=2"}));
  ASSERT_EQ(Election(client_).Proclaim(*lease, "2"), absl::OkStatus());  // no news
  lease.reset();
  ASSERT_TRUE(AwaitTold(told, {"nobody", "a=1", "a=2", "nobody"}));
  lease = Elected(Election(client_, "b"));
  EXPECT_TRUE(AwaitTold(told, {"nobody", "a=1", "a=2", "nobody", "b="}));
}

TEST_F(ObserversInAWorld, AllHearOfEachLeaderInTurnWithoutAGap) {
  const auto clients = NewClients<3>();
  std::vector<std::unique_ptr<Told>> observers;
  std::vector<Pending> candidates;
  for (size_t i = 0; i < clients.size(); ++i) {
    observers.push_back(std::make_unique<Told>(Election(clients[i])));
    EXPECT_TRUE(AwaitTold(*observers[i], {"nobody"}));
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    candidates.push_back(Queued(Election(clients[i], absl::StrCat(i)), i + 1));
  }
  std::vector<std::string> heard = {"nobody"};
  std::optional<Told> late;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Lease leading = Granted(candidates[i]);
    heard.push_back(absl::StrCat(i, "="));
    for (const auto& told : observers) EXPECT_TRUE(AwaitTold(*told, heard));
    if (i == 0) late.emplace(Election(clients[1]));
    EXPECT_TRUE(AwaitTold(*late, {heard.begin() + 1, heard.end()}));
  }
}

TEST_F(ElectionInAWorld, WhileSomebodyLeadsAnObserverWatchesTheLeaderAlone) {
  auto observing = NewClient();
  const Lease lease = Elected(Election(client_, "a"));
  CatchUp(observing);
  const Told told(Election(observing));
  ASSERT_TRUE(AwaitTold(told, {"a="}));
  ASSERT_TRUE(AwaitWatches(1));
  auto second = Queued(Election(client_, "b"), 2);
  auto third = Queued(Election(client_, "c"), 3);
  ASSERT_TRUE(AwaitWatches(3));
  world().Pass(absl::Milliseconds(100));
  EXPECT_EQ(world().Watches(), 3);
  EXPECT_TRUE(told.Are({"a="}));
}

TEST_F(ElectionInAWorld, TheEndOfAnObservationLeavesNoWatch) {
  auto observing = NewClient();
  Told nowhere(LeaderElection(observing, path() + "-absent"));
  Told vacant(Election(observing));
  ASSERT_TRUE(AwaitTold(nowhere, {"nobody"}));
  ASSERT_TRUE(AwaitTold(vacant, {"nobody"}));
  const Lease lease = Elected(LeaderElection(client_, path() + "-led", {"a"}));
  CatchUp(observing);
  Told led(LeaderElection(observing, path() + "-led"));
  ASSERT_TRUE(AwaitTold(led, {"a="}));
  EXPECT_TRUE(AwaitWatches(3));
  for (Told* told : {&nowhere, &vacant, &led}) told->End();
  EXPECT_TRUE(AwaitWatches(0));
}

TEST_F(ElectionInAWorld, AnEndWithoutAConnectionLeavesNoWatchEither) {
  auto observing = NewClient();
  const Lease lease = Elected(Election(client_, "a"));
  CatchUp(observing);
  Told told(Election(observing));
  ASSERT_TRUE(AwaitTold(told, {"a="}));
  const States states(*observing);
  world().Disconnect(*observing);
  EXPECT_TRUE(AwaitState(states, ClientState::kSuspended));
  told.End();
  world().Reconnect(*observing);
  EXPECT_TRUE(AwaitState(states, ClientState::kConnected));
  EXPECT_TRUE(AwaitLeader(observing, "a"));  // asked for after the watch was taken off
  EXPECT_EQ(world().Watches(), 0);
}

TEST_F(ElectionInAWorld, AClosedClientIsTheObserversLastNews) {
  const Told told(Election(client_));
  ASSERT_TRUE(AwaitTold(told, {"nobody"}));
  EXPECT_EQ(client_->Close(), absl::OkStatus());
  EXPECT_TRUE(AwaitTold(told, {"nobody", "FAILED_PRECONDITION"}));
  const Told late(Election(client_));
  EXPECT_TRUE(AwaitTold(late, {"FAILED_PRECONDITION"}));
}

TEST_F(ObserversInAWorld, NeverSeeValuesOfOneLeaderAfterThoseOfTheNext) {
  const auto [first, second, observer] = NewClients<3>();
  const Told told(Election(observer));
  std::optional<Lease> leading = Elected(Election(first, "a", "10"));
  auto next = Queued(Election(second, "b", "15"), 2);
  for (int value = 11; value < 15; ++value) {
    EXPECT_EQ(Election(first).Proclaim(*leading, absl::StrCat(value)), absl::OkStatus());
  }
  leading.reset();
  leading = Granted(next);
  for (int value = 16; value < 20; ++value) {
    EXPECT_EQ(Election(second).Proclaim(*leading, absl::StrCat(value)), absl::OkStatus());
  }
  EXPECT_TRUE(AwaitLast(told, "b=19"));
  std::vector<std::string> texts = told.texts();
  std::erase(texts, "nobody");
  EXPECT_TRUE(std::is_sorted(texts.begin(), texts.end())) << ::testing::PrintToString(texts);
}

// And nothing of the lost connection.
TEST_F(ObserversInAWorld, ThatWereCutOffAreToldWhatIsSoOnceTheyAreBack) {
  const auto proclaim = [this](std::optional<Lease>& leading) {
    EXPECT_EQ(Election(client_).Proclaim(*leading, "2"), absl::OkStatus());
  };
  const auto reelect = [this](const std::string& id) {
    return [this, id](std::optional<Lease>& leading) {
      leading.reset();
      EXPECT_TRUE(AwaitQueue(0));
      leading = Elected(Election(client_, id));
    };
  };
  const std::pair<std::function<void(std::optional<Lease>&)>, std::string> cases[] = {
      {proclaim, "one=2"},
      {reelect("two"), "two="},
      {reelect("one"), "one="},  // a new term of the same candidate
  };
  for (const auto& [meanwhile, news] : cases) {
    const auto observer = NewClient();
    std::optional<Lease> leading = Elected(Election(client_, "one"));
    CatchUp(observer);
    const Told told(Election(observer));
    EXPECT_TRUE(AwaitTold(told, {"one="}));
    world().Disconnect(*observer);
    meanwhile(leading);
    world().Pass(absl::Milliseconds(200));
    EXPECT_THAT(told.texts(), ElementsAre("one="));
    world().Reconnect(*observer);
    EXPECT_TRUE(AwaitTold(told, {"one=", news}));
    leading.reset();
    ASSERT_TRUE(AwaitQueue(0));
  }
}

TEST_F(ObserversInAWorld, WhoseSessionExpiresAreToldOnlyOfWhatChanged) {
  auto observer = NewClient();
  std::optional<Lease> leading = Elected(Election(client_, "one"));
  CatchUp(observer);
  const Told told(Election(observer));
  EXPECT_TRUE(AwaitLast(told, "one="));
  const States states(*observer);
  world().Expire(*observer);
  EXPECT_TRUE(world().Await([&] { return states.seen().size() > 1; }));
  EXPECT_TRUE(AwaitState(states, ClientState::kConnected));
  EXPECT_EQ(Election(client_).Proclaim(*leading, "still"), absl::OkStatus());
  EXPECT_TRUE(AwaitLast(told, "one=still"));
  EXPECT_THAT(told.texts(), ElementsAre("one=", "one=still"));
  auto next = Queued(Election(client_, "two"), 2);
  world().Expire(*observer);
  leading.reset();
  leading = Granted(next);
  ASSERT_TRUE(AwaitLast(told, "two="));
  EXPECT_EQ(Election(client_).Proclaim(*leading, "2"), absl::OkStatus());
  EXPECT_TRUE(AwaitLast(told, "two=2"));
}

TEST_F(ObserversInAWorld, WhoAskWithoutAConnectionAreAnsweredOnceThereIsOne) {
  const Lease leading = Elected(Election(client_, "one"));
  world().Disconnect(*client_);
  auto asked = Elsewhere([&] { return TextOf(Election(client_).CurrentLeader()); });
  world().Pass(absl::Milliseconds(200));
  EXPECT_FALSE(Ready(asked));
  world().Reconnect(*client_);
  EXPECT_EQ(Result(std::move(asked)), "one=");
}

TEST_F(ObserversInAWorld, AndCandidatesWithOtherCredentialsAreRefusedEveryTime) {
  const ClientOptions alice{.digest_credentials = {"alice:secret"}, .acl = CreatorOnlyAcl()};
  auto owner = NewClient(alice);
  const Lease leading = Elected(Election(owner, "alice"));
  for (const std::vector<std::string>& credentials :
       {std::vector<std::string>{}, {"alice:wrong"}}) {
    auto other = NewClient({.digest_credentials = credentials});
    const auto queue = Queue();
    for (const std::string& where : {path(), path(), path() + "/second"}) {
      auto candidate = Pending(LeaderElection(other, where));
      EXPECT_EQ(Code(candidate), StatusCode::kPermissionDenied);
    }
    for (const std::string value : {"1", "2"}) {
      EXPECT_EQ(TextOf(Election(other).CurrentLeader()), "PERMISSION_DENIED");
      const Told told(Election(other));
      EXPECT_TRUE(AwaitTold(told, {"PERMISSION_DENIED"}));
      EXPECT_EQ(Election(owner).Proclaim(leading, value), absl::OkStatus());
      EXPECT_TRUE(told.Are({"PERMISSION_DENIED"}));
      EXPECT_EQ(world().Watches(), 0);
    }
    EXPECT_EQ(Queue(), queue);
  }
  EXPECT_TRUE(AwaitLeader(NewClient(alice), "alice"));
}

TEST_F(ObserversInAWorld, AndCandidatesMayUseAnOpenPathBelowOneThatIsClosedToThem) {
  auto owner = NewClient({.digest_credentials = {"alice:secret"}, .acl = CreatorOnlyAcl()});
  auto opener = NewClient({.digest_credentials = {"alice:secret"}});
  auto other = NewClient();
  const Lease closed = Elected(Election(owner, "alice"));
  const std::string open = path() + "/open";
  std::optional<Lease> leading = Elected({opener, open});
  LeaderElection election(other, open, {.id = "other"});
  auto second = Pending(election);
  ASSERT_TRUE(world().Await([&] { return world().Paths(open).size() == 2; }));
  leading.reset();
  leading = Granted(second);
  EXPECT_EQ(TextOf(election.CurrentLeader()), "other=");
  EXPECT_EQ(TextOf(Election(other).CurrentLeader()), "PERMISSION_DENIED");
}

TEST_F(ObserversInAWorld, OfUsersWithPathsOfTheirOwnSeeEachUsersCandidatesInTurn) {
  ASSERT_TRUE(world().Create(world().root()));
  for (const std::string user : {"alice", "bob"}) {
    auto client = NewClient({.digest_credentials = {user + ":secret"}, .acl = CreatorOnlyAcl()});
    const std::string path = this->path() + "-" + user;
    std::optional<Lease> leading = Elected({client, path, {.id = "first"}});
    auto second = Pending(LeaderElection(client, path, {.id = "second"}));
    EXPECT_EQ((*LeaderElection(client, path).CurrentLeader())->owner.id, "first");
    leading.reset();
    leading = Granted(second);
    EXPECT_EQ((*LeaderElection(client, path).CurrentLeader())->owner.id, "second");
  }
}

}  // namespace
}  // namespace zkrecipes::integration
