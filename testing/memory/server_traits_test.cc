// SPDX-License-Identifier: Apache-2.0
//
// In what servers differ, and what the library does with it.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/memory/model_client_fixture.h"
#include "testing/memory/model_ensemble.h"
#include "testing/memory/simulation.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const base::BootTime kBegin = base::BootTime::SinceBoot(absl::Seconds(1));

ModelEnsemble With(const ServerTraits& traits) { return ModelEnsemble({.traits = traits}); }

std::optional<int64_t> ZxidOfTheEvent(const ServerTraits& traits) {
  ModelEnsemble model = With(traits);
  ModelClient client(&model);
  EXPECT_TRUE(client.Connect(0));
  client.Create("/a");
  client.Watch("/a");
  (void)client.Answers();
  client.Send(zk::Delete{"/a"});
  client.Settle();
  const std::optional<ToClient> first = model.Receive(client.id());
  const auto* fired = first.has_value() ? std::get_if<wire::Fired>(&*first) : nullptr;
  if (fired == nullptr) return std::nullopt;
  return fired->zxid;
}

TEST(ServerTraits, EventsSayTheZxidOfTheirChangeFromZooKeeper39On) {
  EXPECT_EQ(ZxidOfTheEvent({}), -1);
  EXPECT_GT(ZxidOfTheEvent(ServerTraits::ZooKeeper39()), 0);
  EXPECT_GT(ZxidOfTheEvent(ServerTraits::ZooKeeper310()), 0);
}

bool UnusedContainerIsThereAfter(absl::Duration time, const ServerTraits& traits) {
  ModelEnsemble model = With(traits);
  ModelClient client(&model);
  EXPECT_TRUE(client.Connect(0));
  client.Create("/c", zk::CreateMode::kContainer);
  while (model.NextDeadline() <= kBegin + time) {
    model.Tick(model.NextDeadline());
    while (model.CanCommit()) model.Commit();
  }
  return model.committed().Find("/c") != nullptr;
}

TEST(ServerTraits, AContainerThatNobodyUsedGoesAfterFiveMinutesFromZooKeeper310On) {
  EXPECT_TRUE(UnusedContainerIsThereAfter(absl::Minutes(30), ServerTraits::ZooKeeper39()));
  EXPECT_TRUE(UnusedContainerIsThereAfter(absl::Minutes(4), ServerTraits::ZooKeeper310()));
  EXPECT_FALSE(UnusedContainerIsThereAfter(absl::Minutes(7), ServerTraits::ZooKeeper310()));
}

TEST(ServerTraits, AThrottledRequestIsAnsweredInItsTurnAndNotExecuted) {
  ModelEnsemble model = With({.throttled_of = 2});
  ModelClient client(&model);
  ASSERT_TRUE(client.Connect(0));
  EXPECT_EQ(client.Create("/a").code, zk::Code::kOk);
  EXPECT_EQ(client.Create("/b").code, zk::Code::kThrottled);
  EXPECT_EQ(client.Call(zk::Get{"/b"}).code, zk::Code::kNoNode);
  EXPECT_EQ(client.Call(zk::Get{"/a"}).code, zk::Code::kThrottled);
}

TEST(ServerTraits, AShedRequestIsNotExecutedAndItsConnectionIsClosed) {
  ModelEnsemble model = With({.shed_of = 2});
  ModelClient client(&model);
  ASSERT_TRUE(client.Connect(0));
  EXPECT_EQ(client.Create("/a").code, zk::Code::kOk);
  client.Ask(zk::Create{"/b", "", zk::CreateMode::kPersistent});
  EXPECT_TRUE(model.ServerHungUp(client.id()));
  EXPECT_EQ(model.committed().Find("/b"), nullptr);
  EXPECT_TRUE(client.Connect(0));  // in the same session
}

InMemoryEnsembleOptions Like(ServerVersion version) {
  InMemoryEnsembleOptions options;
  options.version = version;
  return options;
}

TEST(OnKeeper, NoClientIsGivenASessionAndTheReasonNamesIt) {
  InMemoryEnsemble ensemble(Like(ServerVersion::kClickHouseKeeper));
  const absl::Status refused = ensemble.Connect().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("ClickHouse Keeper"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no lease can be proven"));
}

TEST(OnKeeper, AClientThatConnectsInTheBackgroundIsNotGrantedALock) {
  InMemoryEnsemble ensemble(Like(ServerVersion::kClickHouseKeeper));
  const auto client = ensemble.CreateClient();
  ASSERT_TRUE(client.ok());
  ensemble.Reconnect(**client);
  ensemble.Advance(absl::Seconds(30));
  const absl::Status refused = Lock(*client, "/lock").TryAcquire().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("ClickHouse Keeper"));
  EXPECT_THAT(ensemble.Paths(), ElementsAre());
}

// Why Keeper is refused: a server like it that does not say what it is. A Keeper that is shut
// down ends its clients' sessions at once, whatever their timeout.
TEST(OnKeeper, TwoWouldBelieveThatTheyHoldALockIfItCouldNotBeRecognised) {
  Simulation simulation;
  const auto acquire = [&](const std::shared_ptr<Client>& client) {
    std::optional<Lease> lease;
    Lock(client, "/lock").AcquireAsync({}, [&lease](absl::StatusOr<Lease> answer) {
      lease = *std::move(answer);
    });
    simulation.RunUntilIdle();
    return lease;
  };
  const auto connect = [&] {
    const auto host = simulation.AddHost();
    const auto core = simulation.NewClient(host);
    core->Start([](const absl::Status&) {});
    simulation.RunUntilIdle();
    return std::pair(host, internal::ClientAccess::Wrap(core));
  };
  const auto [first_host, first] = connect();
  const auto [second_host, second] = connect();
  const std::optional<Lease> held = acquire(first);
  ASSERT_TRUE(held.has_value());

  first_host->set_network(Host::Network::kSilent);  // its server is on its way down
  ASSERT_TRUE(simulation.ensemble().Expire(first->session_id(), simulation.now()));
  const std::optional<Lease> granted = acquire(second);
  ASSERT_TRUE(granted.has_value());
  EXPECT_TRUE(granted->believed());
  EXPECT_TRUE(held->believed());  // which is what must not be
}

// ZooKeeper 3.9 says in a watch event how far the change has brought it. If that counted as seen,
// the other events of the same change, lost with the connection, would never come.
TEST(OnZooKeeper39, EventsOfOneChangeThatAConnectionLostAreToldOnTheNext) {
  Simulation simulation({.traits = ServerTraits::ZooKeeper39()});
  ModelEnsemble& model = simulation.ensemble();
  ModelClient owner(&model);
  ASSERT_TRUE(owner.Connect(0));
  for (const char* path : {"/a", "/b"}) owner.Create(path);
  for (const char* path : {"/a/e", "/b/e"}) owner.Create(path, zk::CreateMode::kEphemeral);
  const auto host = simulation.AddHost();
  struct Told : zk::HandleListener {
    void OnConnected(zk::SessionId, absl::Duration, base::BootTime) override {}
    void OnDisconnected(int) override {}
    void OnEnded(zk::Code) override {}
    void OnWatch(const std::string& path, zk::WatchEvent) override { paths.push_back(path); }
    std::vector<std::string> paths;
  } told;
  zk::HandleOptions options;
  options.servers = zk::NumericServers{"0"};
  std::unique_ptr<zk::Handle> handle = *host->Open(options, &told);
  simulation.RunUntilIdle();
  for (const char* path : {"/a", "/b"}) handle->Send(zk::WatchNode{path}, [](const zk::Reply&) {});
  simulation.RunUntilIdle();

  ASSERT_TRUE(model.Expire(owner.session(), simulation.now()));
  while (model.CanCommit()) model.Commit();
  while (model.CanApply(0)) model.Apply(0);
  ASSERT_TRUE(host->CanDeliver());
  host->Deliver();  // one of the two
  host->BreakConnections();
  simulation.RunUntil(simulation.now() + absl::Seconds(5));
  EXPECT_THAT(told.paths, ::testing::UnorderedElementsAre("/a", "/b"));
  handle->Close();
}

TEST(OnZooKeeper310, ALockIsGrantedThoughItsParentWasReapedUnused) {
  InMemoryEnsemble ensemble(Like(ServerVersion::kZooKeeper310));
  const auto client = ensemble.Connect();
  ASSERT_TRUE(client.ok());
  {
    const absl::StatusOr<Lease> lease = Lock(*client, "/locks/one").Acquire();
    ASSERT_TRUE(lease.ok()) << lease.status();
  }
  ensemble.Advance(absl::Minutes(10));
  EXPECT_THAT(ensemble.Paths(), ElementsAre());
  EXPECT_TRUE(Lock(*client, "/locks/one").Acquire().ok());
}

}  // namespace
}  // namespace zkrecipes::testing::memory
