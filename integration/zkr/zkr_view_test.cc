// SPDX-License-Identifier: Apache-2.0
//
// `zkr ls`, `check`, `break` and the global options on a real ensemble, as a user runs them.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include <gmock/gmock.h>

#include "integration/zkr/zkr_fixture.h"
#include "zkrecipes/cached_lock.h"
#include "zkrecipes/partitions.h"

namespace zkrecipes::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class ZkrLsTest : public ZkrTest {
 protected:
  json Listed(const std::vector<std::string>& arguments) {
    const testing::Answer answer = Ask(arguments);
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_THAT(answer.err, IsEmpty());
    return json::parse(answer.out);
  }
};

TEST_F(ZkrLsTest, ShowsAnAbsentPathAsAnEmptyQueue) {
  const testing::Answer text = Ask({"ls", node_path()});
  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, IsEmpty());
  EXPECT_THAT(text.err, HasSubstr("nobody holds or waits for " + node_path()));
  EXPECT_EQ(Listed({"ls", node_path(), "--json"}),
            json({{"path", node_path()}, {"permits", nullptr}, {"contenders", json::array()}}));
  auto session = Connect();
  EXPECT_EQ(session->Do(zk::Get{node_path()}).code, zk::Code::kNoNode);
}

TEST_F(ZkrLsTest, ShowsHolderAndWaitersInOrder) {
  auto holder = NewClient({.owner_id = "first"});
  auto kazoo = NewClient({.dialect = NameDialect::kKazoo});
  const Lease held = Acquired(holder);
  const Pending waiter(kazoo, node_path());
  ASSERT_TRUE(AwaitQueue(2));
  const auto queue = Queue();
  const json answer = Listed({"--json", "ls", node_path()});
  EXPECT_EQ(answer["path"], node_path());
  ASSERT_EQ(answer["contenders"].size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const json& shown = answer["contenders"][i];
    EXPECT_EQ(shown["position"], i);
    EXPECT_EQ(shown["mode"], "exclusive");
    EXPECT_EQ(shown["state"], i == 0 ? "held" : "waiting");
    EXPECT_EQ(shown["token"], queue[i].token.value());
    EXPECT_EQ(shown["node_czxid"], queue[i].node_czxid);
    EXPECT_EQ(shown["node"], queue[i].node);
    EXPECT_EQ(shown["session"], absl::StrFormat("0x%x", queue[i].session));
    EXPECT_EQ(shown["dialect"], i == 0 ? "curator" : "kazoo");
  }
  EXPECT_EQ(answer["contenders"][0]["token"], held.token().value());
  EXPECT_EQ(answer["contenders"][0]["owner"]["id"], "first");
  EXPECT_EQ(answer["contenders"][0]["owner"]["pid"], getpid());
}

TEST_F(ZkrLsTest, ShowsATableToPeople) {
  auto holder = NewClient({.owner_id = "first"});
  const Lease held = Acquired(holder);
  const Pending waiter(other(), node_path());
  ASSERT_TRUE(AwaitQueue(2));
  const testing::Answer answer = Ask({"ls", node_path()});
  EXPECT_EQ(answer.status, 0);
  const std::vector<std::string> lines = absl::StrSplit(answer.out, '\n');
  ASSERT_EQ(lines.size(), 4u) << answer.out;
  EXPECT_THAT(lines[0], MatchesRegex("POS  MODE +STATE +TOKEN +OWNER +SESSION +SINCE +NODE"));
  EXPECT_THAT(lines[1],
              StartsWith("0    exclusive  held     " + held.token().ToString() + "  first@"));
  EXPECT_THAT(lines[1], HasSubstr(":" + std::to_string(getpid()) + "  0x"));
  EXPECT_THAT(lines[2], StartsWith("1    exclusive  waiting  "));
  EXPECT_THAT(lines[3], IsEmpty());
}

TEST_F(ZkrLsTest, SaysThatALockIsKeptAndMayBeIdle) {
  const CachedLock lock(NewClient({.owner_id = "first"}), node_path(),
                        {.keep_idle_for = absl::InfiniteDuration()});
  // The second turn of a tenure: the node has stayed. Held, so that it stays however slow all is.
  absl::StatusOr<CachedLease> turn = absl::UnknownError("none yet");
  ASSERT_TRUE(Eventually([&] {
    turn = absl::UnknownError("over");
    turn = lock.Acquire({kSoon});
    return turn.ok() && turn->token().turn > 1;
  })) << turn.status();
  ASSERT_TRUE(AwaitQueue(1));
  EXPECT_EQ(Listed({"ls", node_path(), "--json"})["contenders"][0]["stays"], true);
  const std::string kept = absl::StrFormat("kept by first@%s:%d: held, or idle until it hears of ",
                                           Queue().at(0).owner.host, getpid());
  EXPECT_THAT(Ask({"ls", node_path()}).out, StartsWith(kept));
  EXPECT_THAT(Ask({"doctor", node_path()}).out, HasSubstr("lock      kept by first@"));
  turn = absl::UnknownError("over");
  const Lease held = Acquired(other());
  ASSERT_TRUE(AwaitQueue(1));
  EXPECT_FALSE(Listed({"ls", node_path(), "--json"})["contenders"][0].contains("stays"));
  EXPECT_THAT(Ask({"ls", node_path()}).out, StartsWith("POS "));
}

// A member that works on each partition until it is asked to end.
class Sharer {
 public:
  Sharer(std::shared_ptr<Client> client, const std::string& path, const std::string& id)
      : partitions_(std::move(client), path, 4, {.id = id, .drain = absl::ZeroDuration()}),
        thread_([this] { status_ = partitions_.Run(stop_.get_token(), UntilAsked); }) {}
  ~Sharer() {
    stop_.request_stop();
    thread_.join();
    EXPECT_EQ(status_, absl::OkStatus());
  }

 private:
  static void UntilAsked(const std::string&, const Lease&, std::stop_token end) {
    std::promise<void> asked;
    const std::stop_callback on_end(end, [&asked] { asked.set_value(); });
    asked.get_future().wait();
  }

  std::stop_source stop_;
  const Partitions partitions_;
  absl::Status status_;
  std::thread thread_;
};

TEST_F(ZkrLsTest, ShowsWhoOwnsEachPartition) {
  const auto clients = std::array{NewClient(), NewClient()};
  const Sharer first(clients[0], node_path(), "web-1"), second(clients[1], node_path(), "web-2");
  json shown;
  const auto balanced = [&] {
    CatchUp(other());
    shown = Listed({"ls", node_path(), "--json"}).value("partitions", json());
    if (!shown.is_object() || shown["whole"] != true || shown["members"].size() != 2) return false;
    return shown["members"][0]["owns"] == 2 && shown["members"][1]["owns"] == 2;
  };
  ASSERT_TRUE(Eventually(balanced)) << shown;
  CatchUp(other());  // its server may lag behind the one that zkr has asked
  const json& members = shown["members"];
  EXPECT_EQ(members[0]["id"], "web-1");
  EXPECT_EQ(members[0]["state"], "present");
  EXPECT_EQ(members[0]["weight"], 1);
  EXPECT_EQ(members[0]["list"], members[1]["list"]);
  for (int i = 0; i < 4; ++i) {
    const json& partition = shown["names"][i];
    EXPECT_EQ(partition["name"], std::to_string(i));
    EXPECT_THAT(std::string(partition["member"]), StartsWith("web-"));
    EXPECT_EQ(partition["owner"]["pid"], getpid());
    const auto lock = ListContenders(*other(), node_path() + "/partitions/" + std::to_string(i));
    ASSERT_TRUE(lock.ok() && !lock->empty());
    EXPECT_EQ(partition["token"], lock->front().token.value());
  }
  EXPECT_THAT(Ask({"ls", node_path()}).out, StartsWith("4 partitions; 2 members\n"));
  const testing::Answer doctor = Ask({"doctor", node_path(), "--json"});
  EXPECT_EQ(json::parse(doctor.out)["partitions"]["members"].size(), 2u);
  for (const json& finding : json::parse(doctor.out)["findings"]) {
    EXPECT_THAT(std::string(finding["what"]),
                ::testing::Not(::testing::AnyOf(StartsWith("partition-"), StartsWith("member-"))));
  }
}

constexpr int kAllButRead = 2 | 4 | 8 | 16;

TEST_F(ZkrLsTest, SaysThatItDoesNotKnowWhichMembersAreAway) {
  auto session = Connect();
  const zk::AclEntry no_read = {kAllButRead, "world", "anyone"};
  CreateParent(*session);
  const zk::Create homes = {node_path() + "/homes", "", zk::CreateMode::kPersistent, {no_read}};
  ASSERT_EQ(session->Do(homes).code, zk::Code::kOk);
  const Sharer sharer(NewClient(), node_path(), "web-1");
  std::string shown;
  EXPECT_TRUE(Eventually([&] {
    shown = Ask({"ls", node_path()}).out;
    return shown.starts_with("4 partitions; 1 member, away unknown\n");
  })) << shown;
}

// Children of another service may have the same names, and an ACL that denies us.
TEST_F(ZkrLsTest, TakesNothingForPartitionsThatItMayNotList) {
  auto session = Connect();
  for (const char* child : {"/members", "/partitions"}) {
    const std::string path = node_path() + child;
    SCOPED_TRACE(path);
    session->Do(zk::Create{node_path(), ""});
    const zk::AclEntry no_read = {kAllButRead, "world", "anyone"};
    const zk::Create closed = {path, "", zk::CreateMode::kPersistent, {no_read}};
    ASSERT_EQ(session->Do(closed).code, zk::Code::kOk);
    EXPECT_EQ(Listed({"ls", node_path(), "--json"}),
              json({{"path", node_path()}, {"permits", nullptr}, {"contenders", json::array()}}));
    const testing::Answer doctor = Ask({"doctor", node_path(), "--json"});
    EXPECT_EQ(doctor.status, json::parse(doctor.out)["findings"].empty() ? 0 : 1);
    ASSERT_EQ(session->Do(zk::Delete{path}).code, zk::Code::kOk);
  }
}

TEST_F(ZkrLsTest, WatchesTheQueueUntilItIsInterrupted) {
  auto zkr = Start({"ls", node_path(), "--watch", "--json"});
  ASSERT_TRUE(Eventually([&] { return !zkr->Out().empty(); }));
  const Lease held = Acquired(other());
  const std::string token = absl::StrCat("\"token\":", held.token().value());
  EXPECT_TRUE(Eventually([&] { return zkr->Out().find(token) != std::string::npos; }));
  zkr->Signal(SIGINT);
  EXPECT_EQ(zkr->Wait(), 1000 + SIGINT);
  EXPECT_THAT(zkr->Err(), NothingButOutages());
}

// A view that shows "held" all through an outage would be believed.
TEST_F(ZkrLsTest, TellsOfAnOutageAndOfItsEnd) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  const std::vector<std::string> watch = {"ls", node_path(), "--watch", "--session-timeout", "40s"};
  auto zkr = Start(testing::Joined({watch, {"--json"}})), text = Start(watch);
  ASSERT_TRUE(Eventually([&] { return !zkr->Out().empty() && !text->Out().empty(); }));
  const std::string before = text->Out();
  for (int i = 0; i < ensemble().size(); ++i) ASSERT_TRUE(members().Pause(i).ok());
  for (const auto& each : {std::ref(zkr), std::ref(text)}) {
    EXPECT_TRUE(Eventually(
        [&] { return absl::StrContains(each.get()->Err(), "no server answers since "); }));
  }
  EXPECT_TRUE(Eventually([&] { return absl::EndsWith(zkr->Out(), "\"contenders\":null}\n"); }));
  auto once = Start({"ls", node_path(), "--session-timeout", "40s", "--log-format", "json"});
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(once->Err(), "connecting to "); }));
  ASSERT_TRUE(ensemble().Heal().ok());
  EXPECT_TRUE(Eventually([&] { return absl::EndsWith(zkr->Out(), "\"contenders\":[]}\n"); }));
  EXPECT_TRUE(
      Eventually([&] { return absl::StrContains(text->Err(), "the servers answer again"); }));
  // Where the servers take long to come back that may be told more than once.
  EXPECT_TRUE(Eventually([&] { return text->Out().size() >= 2 * before.size(); })) << text->Out();
  EXPECT_EQ(once->Wait(), 0) << once->Err();
  // The next one is told as soon, however long the first was.
  for (int i = 0; i < ensemble().size(); ++i) ASSERT_TRUE(members().Pause(i).ok());
  EXPECT_TRUE(Eventually([&] { return absl::EndsWith(zkr->Out(), "\"contenders\":null}\n"); },
                         absl::Seconds(20)));
}

TEST_F(ZkrLsTest, ChecksASequencer) {
  std::optional<Lease> held = Acquired(other());
  const std::string sequencer = held->sequencer().ToString();
  const testing::Answer yes = Ask({"check", sequencer});
  EXPECT_EQ(yes.status, 0);
  EXPECT_EQ(yes.out, "holds\n");
  held.reset();
  ASSERT_TRUE(AwaitQueue(0));
  const testing::Answer no = Ask({"check", sequencer, "--json"});
  EXPECT_EQ(no.status, 1);
  EXPECT_EQ(json::parse(no.out), json({{"sequencer", sequencer}, {"holds", false}}));
}

TEST_F(ZkrLsTest, SaysInOneShortLineWhatIsWrongWithASequencer) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "sequencer \"\": must be zkr1:MODE:TOKEN:NODE"},
      {"nonsense", "sequencer \"nonsense\": must be zkr1:MODE:TOKEN:NODE"},
      {"zkr2:exclusive:7:/a/b", "must be zkr1:MODE:TOKEN:NODE"},
      {"zkr1:exclusive:07:/a/b", "its token must be a positive number"},
      {"zkr1:exclusive:7:/a/\x1b[2J", "\"/a/\\033[2J\": must not contain the character U+001B"},
      {"zkr1:exclusive:7:/a/b\n\xff", "must not contain the character U+000A"},
      {std::string(100'000, 'x'), "xxx\"...: must be zkr1:MODE:TOKEN:NODE"}};
  for (const auto& [text, why] : cases) {
    const testing::Answer answer = Ask({"check", text});
    EXPECT_EQ(answer.status, 64) << why;
    EXPECT_THAT(answer.out, IsEmpty());
    EXPECT_THAT(answer.err, HasSubstr(why));
    EXPECT_LT(answer.err.size(), 250u);
    EXPECT_EQ(std::ranges::count(answer.err, '\n'), 1) << answer.err;
  }
  EXPECT_THAT(Ask({"check"}).err, HasSubstr("SEQUENCER is required"));
}

TEST_F(ZkrLsTest, BreaksOneContender) {
  const Lease held = Acquired(other());
  EXPECT_EQ(Ask({"break", node_path(), "--token", "7"}).status, 1);
  EXPECT_EQ(Ask({"break", node_path()}).status, 64);
  ASSERT_TRUE(AwaitQueue(1));
  // Of a script that pads: no octal number.
  const testing::Answer done =
      Ask({"break", node_path(), "--token", "00" + held.token().ToString()});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_TRUE(AwaitQueue(0));
}

// One transaction made both.
TEST_F(ZkrLsTest, BreaksNeitherOfTwoContendersWithOneToken) {
  const std::string guid = "b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-000000000";
  auto session = Connect();
  CreateParent(*session);
  zk::Multi both;
  for (const std::string n : {"1", "2"}) {
    both.ops.push_back(
        zk::Create{node_path() + "/_c_" + n + guid + n, "", zk::CreateMode::kEphemeral});
  }
  ASSERT_EQ(session->Do(both).code, zk::Code::kOk);
  const auto queue = Queue();
  ASSERT_EQ(queue.size(), 2u);
  ASSERT_EQ(queue[0].token, queue[1].token);
  const testing::Answer answer = Ask({"break", node_path(), "--token", queue[0].token.ToString()});
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.err, HasSubstr("2 contenders for " + node_path() + " have the token"));
  EXPECT_EQ(Queue().size(), 2u);
}

TEST_F(ZkrLsTest, KnowsNamespacesAndTheDialectOfZkrLock) {
  const std::string below = servers() + node_path();
  const std::string list = ZKRECIPES_BIN_DIR "/zkr ls --json --servers ";
  // While it is held: the containers of a free lock may be gone.
  const std::string both = list + below + " /job; " + list + servers() + " " + node_path() + "/job";
  auto zkr =
      Start({"lock", "/job", "--dialect", "kazoo", "--servers", below, "--", "sh", "-c", both});
  EXPECT_EQ(zkr->Wait(), 0) << zkr->Err();
  const std::vector<std::string> lines = absl::StrSplit(zkr->Out(), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 2u) << zkr->Out();
  const json answer = json::parse(lines[0]);
  EXPECT_EQ(answer["path"], "/job");
  ASSERT_EQ(answer["contenders"].size(), 1u);
  EXPECT_EQ(answer["contenders"][0]["dialect"], "kazoo");
  EXPECT_THAT(answer["contenders"][0]["node"], HasSubstr("__lock__"));
  const json whole = json::parse(lines[1]);
  EXPECT_EQ(whole["path"], node_path() + "/job");
  EXPECT_EQ(whole["contenders"], answer["contenders"]);
}

}  // namespace
}  // namespace zkrecipes::integration
