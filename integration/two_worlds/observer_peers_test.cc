// SPDX-License-Identifier: Apache-2.0
//
// Who asks for, watches or may not see a leader, as other libraries' suites play it (docs/peers.md),
// in every world.

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "integration/two_worlds/election_fixture.h"

namespace zkrecipes::integration {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class ObserversInAWorld : public ElectionTest {
 protected:
  // Of a leader "one", an observer that is cut off hears nothing; once it is back, what came of
  // `meanwhile`.
  void ExpectToldOnceBack(const std::function<void(std::optional<Lease>& leading)>& meanwhile,
                          const std::vector<std::string>& told_then) {
    const auto observer = NewClient();
    std::optional<Lease> leading = Elected(Election(client_, "one"));
    const Told told(Election(observer));
    EXPECT_TRUE(AwaitTold(told, {"one="}));
    world().Disconnect(*observer);
    meanwhile(leading);
    world().Pass(absl::Milliseconds(200));
    EXPECT_THAT(told.texts(), ElementsAre("one="));
    world().Reconnect(*observer);
    EXPECT_TRUE(AwaitTold(told, told_then));
  }
  // Another term, of `id`.
  std::function<void(std::optional<Lease>&)> Reelect(const std::string& id) {
    return [this, id](std::optional<Lease>& leading) {
      leading.reset();
      EXPECT_TRUE(AwaitQueue(0));
      leading = Elected(Election(client_, id));
    };
  }
};

TEST_F(ObserversInAWorld, OfARelativePathAreRefused) {
  LeaderElection election(client_, "parent");
  auto candidate = Campaigning(election);
  EXPECT_EQ(Code(candidate), StatusCode::kInvalidArgument);
  EXPECT_EQ(election.TryCampaign().status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(TextOf(election.CurrentLeader()), "INVALID_ARGUMENT");
  const Told told(election);
  EXPECT_TRUE(AwaitTold(told, {"INVALID_ARGUMENT"}));
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

TEST_F(ObserversInAWorld, AllSeeEveryLeaderThatWaitsForThem) {
  const auto clients = NewClients<3>();
  std::vector<std::unique_ptr<Told>> observers;
  for (const auto& client : clients) {
    observers.push_back(std::make_unique<Told>(Election(client)));
  }
  std::vector<Pending> candidates;
  for (size_t i = 0; i < clients.size(); ++i) {
    candidates.push_back(Queued(Election(clients[i], absl::StrCat(i)), i + 1));
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Lease leading = Granted(candidates[i]);
    for (const auto& told : observers) EXPECT_TRUE(AwaitLast(*told, absl::StrCat(i, "=")));
  }
}

TEST_F(ObserversInAWorld, AreToldOfTheLeaderThatCameWhileTheyWereCutOff) {
  ExpectToldOnceBack(Reelect("two"), {"one=", "two="});
}

TEST_F(ObserversInAWorld, AreToldOfANewTermOfTheSameCandidate) {
  ExpectToldOnceBack(Reelect("one"), {"one=", "one="});
}

TEST_F(ObserversInAWorld, AreNotToldOfALostConnectionButOfAValueProclaimedMeanwhile) {
  const auto proclaim = [this](std::optional<Lease>& leading) {
    EXPECT_EQ(Election(client_).Proclaim(*leading, "2"), absl::OkStatus());
  };
  ExpectToldOnceBack(proclaim, {"one=", "one=2"});
}

TEST_F(ObserversInAWorld, WhoseSessionExpiresAreToldOnlyOfWhatChanged) {
  auto observer = NewClient();
  std::optional<Lease> leading = Elected(Election(client_, "one"));
  const Told told(Election(observer));
  EXPECT_TRUE(AwaitLast(told, "one="));
  const States states(*observer);
  world().Expire(*observer);
  EXPECT_TRUE(world().Await([&] { return states.seen().size() > 1; }));
  EXPECT_TRUE(world().Await([&] { return states.Are(ClientState::kConnected); }));
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
  auto asked =
      std::async(std::launch::async, [&] { return TextOf(Election(client_).CurrentLeader()); });
  world().Pass(absl::Milliseconds(200));
  EXPECT_NE(asked.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  world().Reconnect(*client_);
  EXPECT_TRUE(world().Await(
      [&] { return asked.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }));
  EXPECT_EQ(asked.get(), "one=");
}

TEST_F(ObserversInAWorld, ALeaderProclaimsThroughAnyElectionObjectOfItsPath) {
  std::optional<Lease> leading = Elected(Election(client_, "one"));
  LeaderElection resumed(client_, path());
  const Told told(resumed);
  EXPECT_EQ(resumed.Proclaim(*leading, "resumed"), absl::OkStatus());
  EXPECT_TRUE(AwaitLast(told, "one=resumed"));
  EXPECT_TRUE(AwaitLeader(client_, "one"));
  const Lease elsewhere = Acquired(client_, path() + "-other");
  EXPECT_EQ(resumed.Proclaim(elsewhere, "no").code(), StatusCode::kInvalidArgument);
  leading.reset();
  const Lease next = Elected(Election(client_, "two"));
  EXPECT_TRUE(AwaitLast(told, "two="));
}

TEST_F(ObserversInAWorld, AndCandidatesWithOtherCredentialsAreRefusedEveryTime) {
  const ClientOptions alice{.digest_credentials = "alice:secret", .acl = CreatorOnlyAcl()};
  auto owner = NewClient(alice);
  const Lease leading = Elected(Election(owner, "alice"));
  for (const char* credentials : {"", "alice:wrong"}) {
    auto other = NewClient({.digest_credentials = credentials});
    const auto queue = Queue();
    for (const std::string& where : {path(), path(), path() + "/second"}) {
      auto candidate = Campaigning({other, where});
      EXPECT_EQ(Code(candidate), StatusCode::kPermissionDenied);
    }
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(TextOf(Election(other).CurrentLeader()), "PERMISSION_DENIED");
      const Told told(Election(other));
      EXPECT_TRUE(AwaitLast(told, "PERMISSION_DENIED"));
      EXPECT_THAT(told.texts(), SizeIs(1));
    }
    EXPECT_EQ(Queue(), queue);
  }
  EXPECT_TRUE(AwaitLeader(NewClient(alice), "alice"));
}

TEST_F(ObserversInAWorld, AndCandidatesMayUseAnOpenPathBelowOneThatIsClosedToThem) {
  auto owner = NewClient({.digest_credentials = "alice:secret", .acl = CreatorOnlyAcl()});
  auto opener = NewClient({.digest_credentials = "alice:secret"});
  auto other = NewClient();
  const Lease closed = Elected(Election(owner, "alice"));
  const std::string open = path() + "/open";
  auto first = Campaigning({opener, open});
  std::optional<Lease> leading = Granted(first);
  LeaderElection election(other, open, {.id = "other"});
  auto second = Campaigning(election);
  leading.reset();
  leading = Granted(second);
  EXPECT_EQ(TextOf(election.CurrentLeader()), "other=");
  EXPECT_EQ(TextOf(Election(other).CurrentLeader()), "PERMISSION_DENIED");
}

TEST_F(ObserversInAWorld, OfUsersWithPathsOfTheirOwnSeeEachUsersCandidatesInTurn) {
  ASSERT_TRUE(world().Create(world().root()));
  for (const std::string user : {"alice", "bob"}) {
    auto client = NewClient({.digest_credentials = user + ":secret", .acl = CreatorOnlyAcl()});
    const std::string path = this->path() + "-" + user;
    auto first = Campaigning({client, path, {.id = "first"}});
    std::optional<Lease> leading = Granted(first);
    auto second = Campaigning({client, path, {.id = "second"}});
    EXPECT_EQ((*LeaderElection(client, path).CurrentLeader())->owner.id, "first");
    leading.reset();
    leading = Granted(second);
    EXPECT_EQ((*LeaderElection(client, path).CurrentLeader())->owner.id, "second");
  }
}

}  // namespace
}  // namespace zkrecipes::integration
