// SPDX-License-Identifier: Apache-2.0
//
// `zkr epoch`, and what a restored backup does to tokens: on servers of the test's own.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "integration/fixtures/stall.h"
#include "integration/fixtures/zk_fixture.h"
#include "integration/zkr/zkr_process.h"
#include "testing/local/server_files.h"
#include "testing/local/work_directory.h"
#include "zkrecipes/fencing/fencing_gate.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Answer;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr char kEpochLock[] = "/locks/a";

// Servers whose data can be put aside, and put back.
class ZkrEpochTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    auto ensemble = testing::LocalEnsemble::Start({.servers = GetParam()});
    ASSERT_TRUE(ensemble.ok()) << ensemble.status();
    ensemble_ = *std::move(ensemble);
  }

  // All servers stand still, and begin again with the data that `meanwhile` leaves.
  template <typename F>
  void Restart(F meanwhile) {
    for (int i = 0; i < ensemble_->size(); ++i) ASSERT_TRUE(ensemble_->Stop(i).ok());
    for (int i = 0; i < ensemble_->size(); ++i) {
      meanwhile(fs::path(testing::ServerDirectory(ensemble_->directory(), i + 1)) / "data",
                fs::path(backup_ / absl::StrCat(i)));
    }
    for (int i = 0; i < ensemble_->size(); ++i) ASSERT_TRUE(ensemble_->Restart(i).ok());
    ASSERT_TRUE(ensemble_->WaitForAll(kSoon).ok());
  }
  void BackUp() {
    Restart([](const fs::path& data, const fs::path& backup) {
      fs::copy(data, backup, fs::copy_options::recursive);
    });
  }
  void Restore() {
    Restart([](const fs::path& data, const fs::path& backup) {
      fs::remove_all(data);
      fs::copy(backup, data, fs::copy_options::recursive);
    });
  }

  std::shared_ptr<Client> NewClient(ClientOptions options = {}) {
    options.servers = ensemble_->servers();
    auto client = Client::Connect(std::move(options), {kSoon});
    EXPECT_TRUE(client.ok()) << client.status();
    return *std::move(client);
  }
  static FencingPass PassOfAGrant(const std::shared_ptr<Client>& client) {
    auto lease = Lock(client, kEpochLock).Acquire({kSoon});
    EXPECT_TRUE(lease.ok()) << lease.status();
    const FencingPass pass = lease.ok() ? lease->pass() : FencingPass();
    // Nothing of it is left to be written: a client that has seen that is refused after a restore.
    if (lease.ok()) std::move(*lease).Release({kSoon}).IgnoreError();
    return pass;
  }

  Answer Run(const std::vector<std::string>& words) {
    return testing::RunToEnd(
        testing::Joined({{ZKRECIPES_BIN_DIR "/zkr", "--servers", ensemble_->servers()}, words}));
  }
  // The finding of `zkr doctor` with this word; null if there is none. What servers answer late, in
  // a stall, is found missing.
  json Found(const std::vector<std::string>& words, const std::string& what) {
    const json report = json::parse(Undisturbed([&] {
                                      return Run(testing::Joined({{"doctor", "--json"}, words}));
                                    }).out);
    for (const json& finding : report["findings"]) {
      if (finding["what"] == what) return finding;
    }
    return {};
  }

  std::unique_ptr<testing::LocalEnsemble> ensemble_;
  TempDir backup_;
};

INSTANTIATE_TEST_SUITE_P(OnServers, ZkrEpochTest, ::testing::Values(1, 3));

TEST_P(ZkrEpochTest, AfterARestoreAGateRefusesTheTokensThatRepeatUntilTheEpochIsRaised) {
  auto gate = *FencingGate::Open();
  ASSERT_TRUE(gate->Admit(kEpochLock, PassOfAGrant(NewClient())).ok());
  BackUp();
  FencingPass lost;
  {
    const auto client = NewClient();
    for (int i = 0; i < 50; ++i) lost = PassOfAGrant(client);
  }
  ASSERT_TRUE(gate->Admit(kEpochLock, lost).ok());
  const std::string seen = absl::StrCat(lost.token.ToString(), "@", lost.epoch);
  EXPECT_EQ(Found({"--seen", seen}, "set-back"), json());

  // Tokens count elections, too: where the servers need one more now than after the backup, tokens
  // do not repeat, and the backup is restored again.
  std::shared_ptr<Client> survivor;
  FencingPass again = lost;
  for (int i = 0; i < 5 && again.token >= lost.token; ++i) {
    survivor.reset();
    Restore();
    survivor = NewClient();
    again = PassOfAGrant(survivor);
  }
  EXPECT_LT(again.token, lost.token);
  const absl::Status backwards = gate->Admit(kEpochLock, again);
  EXPECT_TRUE(absl::IsFailedPrecondition(backwards)) << backwards;
  EXPECT_THAT(std::string(backwards.message()),
              HasSubstr(absl::StrCat("is older than ", lost.token.ToString())));
  const json found = Found({"--seen", seen}, "set-back");
  ASSERT_TRUE(found.is_object());
  EXPECT_THAT(found["do"].get<std::string>(), HasSubstr("zkr epoch --raise --above 0"));

  EXPECT_EQ(Run({"epoch", "--raise", "--above", "0"}).out, "1\n");
  EXPECT_FALSE(gate->Admit(kEpochLock, PassOfAGrant(survivor)).ok()) << "its session is older";
  const FencingPass next = PassOfAGrant(NewClient());
  EXPECT_EQ(next.epoch, 1);
  EXPECT_EQ(gate->Admit(kEpochLock, next), absl::OkStatus());
  const absl::Status stale = gate->Admit(kEpochLock, lost);
  EXPECT_TRUE(absl::IsFailedPrecondition(stale)) << stale;
  EXPECT_THAT(std::string(stale.message()), HasSubstr("of epoch 0, and epoch 1 has begun"));
  EXPECT_EQ(Found({"--seen", seen}, "set-back"), json());
}

// The record is restored with all the rest.
TEST_P(ZkrEpochTest, ARestoreThatSetsTheEpochItselfBackIsSeenAndTheEpochRaisedAboveTheLostOne) {
  EXPECT_EQ(Run({"epoch", "--raise"}).out, "1\n");
  BackUp();
  EXPECT_EQ(Run({"epoch", "--raise"}).out, "2\n");
  const FencingPass lost = PassOfAGrant(NewClient());
  EXPECT_EQ(lost.epoch, 2);
  Restore();
  EXPECT_EQ(Run({"epoch"}).out, "1\n");
  EXPECT_TRUE(Found({"--seen", lost.token.ToString() + "@2"}, "set-back").is_object());
  EXPECT_EQ(Run({"epoch", "--raise", "--above", "2", "--json"}).out, "{\"epoch\":3}\n");
  EXPECT_EQ(PassOfAGrant(NewClient()).epoch, 3);
}

class ZkrEpochCommandTest : public ZkrEpochTest {};
INSTANTIATE_TEST_SUITE_P(OnServers, ZkrEpochCommandTest, ::testing::Values(1));

// The backup has the session, too, and the servers do not know that it has been away.
TEST_P(ZkrEpochCommandTest, ASessionThatLivesOnAfterARestoreIsRefusedOnceTheEpochIsRaised) {
  const auto client = NewClient({.session_timeout = absl::Minutes(1)});
  const int64_t session = client->session_id();
  EXPECT_EQ(PassOfAGrant(client).epoch, 0);
  BackUp();
  Restore();  // before anything is written: servers turn away a client that has seen more than they
  EXPECT_EQ(Run({"epoch", "--raise"}).out, "1\n");
  const FencingPass pass = PassOfAGrant(client);
  ASSERT_EQ(client->session_id(), session);
  EXPECT_EQ(pass.epoch, 0);
  auto gate = *FencingGate::Open();
  const FencingPass next = PassOfAGrant(NewClient());
  EXPECT_EQ(gate->Admit(kEpochLock, next), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit(kEpochLock, PassOfAGrant(client))));
}

TEST_P(ZkrEpochCommandTest, ShowsAndRaisesTheEpochAndTellsItToCommands) {
  EXPECT_EQ(Run({"epoch"}).out, "0\n");
  EXPECT_EQ(Run({"epoch", "--json"}).out, "{\"epoch\":0}\n");
  const Answer raised = Run({"epoch", "--raise", "--above", "6"});
  EXPECT_EQ(raised.status, 0);
  EXPECT_EQ(raised.out, "7\n");
  EXPECT_EQ(Run({"lock", kEpochLock, "--", "sh", "-c", "echo $ZKR_FENCING_EPOCH"}).out, "7\n");
}

TEST_P(ZkrEpochCommandTest, EndsWithTheStatusOfWhatWentWrong) {
  EXPECT_EQ(Run({"epoch", "--above", "6"}).status, 64) << "without --raise";
  EXPECT_EQ(Run({"epoch", "--raise", "--above", "-1"}).status, 64);
  EXPECT_EQ(Run({"epoch", "--raise", "--above", "9223372036854775807"}).status, 64);
  EXPECT_EQ(Run({"doctor", "--seen", "x"}).status, 64);
  const TempDir files;
  std::ofstream(files / "users") << "operator:secret\n";
  EXPECT_EQ(Run({"epoch", "--raise", "--digest-file", files / "users"}).out, "1\n");
  EXPECT_EQ(Run({"epoch", "--raise"}).status, 77);
  EXPECT_EQ(Run({"epoch"}).out, "1\n") << "all may read it";
  ASSERT_TRUE(ensemble_->Kill(0).ok());
  EXPECT_EQ(Run({"epoch", "--session-timeout", "1s"}).status, 69);
}

TEST_P(ZkrEpochCommandTest, ARecordThatIsNoNumberIsSaidAndNothingIsGranted) {
  const std::shared_ptr<internal::Loop> loop = *internal::Loop::Start();
  {
    ZkSession session(loop, {.servers = ensemble_->servers()});
    ASSERT_TRUE(session.WaitUntilConnected());
    EXPECT_EQ(session.Do(zk::Create{"/zkrecipes", ""}).code, zk::Code::kOk);
    EXPECT_EQ(session.Do(zk::Create{"/zkrecipes/epoch", "one"}).code, zk::Code::kOk);
  }
  loop->Stop();
  const Answer locked = Run({"lock", kEpochLock, "--", "echo", "ran"});
  EXPECT_EQ(locked.status, 64);
  EXPECT_EQ(locked.out, "");
  EXPECT_THAT(locked.err, HasSubstr("/zkrecipes/epoch holds \"one\""));
  EXPECT_EQ(Run({"epoch"}).status, 64);
  EXPECT_TRUE(Found({}, "epoch-unreadable").is_object());
}

// A stranger without credentials, under a root that is open to all, as it is by default.
TEST_P(ZkrEpochCommandTest, AStrangersRecordIsFoundRefusedAndMadeAnew) {
  const TempDir files;
  const std::string users = files / "users";
  std::ofstream(users) << "operator:secret\n";
  EXPECT_TRUE(Found({"--digest-file", users}, "epoch-missing").is_object());
  const std::shared_ptr<internal::Loop> loop = *internal::Loop::Start();
  const auto as = [&](const std::vector<std::string>& credentials, const zk::Request& request) {
    ZkSession session(loop, {.servers = ensemble_->servers(), .credentials = credentials});
    EXPECT_TRUE(session.WaitUntilConnected());
    return session.Do(request);
  };
  EXPECT_EQ(as({}, zk::Create{"/zkrecipes", ""}).code, zk::Code::kOk);
  EXPECT_EQ(as({}, zk::Create{"/zkrecipes/epoch", "9223372036854775807"}).code, zk::Code::kOk);
  EXPECT_TRUE(Found({"--digest-file", users}, "epoch-foreign").is_object());
  const Answer locked = Run({"lock", kEpochLock, "--", "echo", "ran"});
  EXPECT_EQ(locked.status, 64);
  EXPECT_THAT(locked.err, HasSubstr("zkr epoch --make --above N"));

  EXPECT_EQ(Run({"epoch", "--make"}).status, 64) << "for whom?";
  EXPECT_EQ(Run({"epoch", "--make", "--digest-file", users}).status, 64) << "above which?";
  EXPECT_EQ(Run({"epoch", "--make", "--above", "4", "--digest-file", users}).out, "5\n");
  EXPECT_EQ(Undisturbed([&] { return Run({"doctor", "--digest-file", users}); }).status, 0);
  EXPECT_EQ(as({}, zk::SetData{"/zkrecipes/epoch", "6", -1}).code, zk::Code::kNoAuth);
  EXPECT_EQ(as({}, zk::Delete{"/zkrecipes/epoch"}).code, zk::Code::kNoAuth);

  // One who trusts the operators alone believes this record, and so does everyone else.
  const auto acl = as({"operator:secret"}, zk::GetAcl{"/zkrecipes/epoch"}).acl;
  ASSERT_FALSE(acl.empty());
  ClientOptions trusting;
  trusting.digest_credentials = {"operator:secret"};
  trusting.epoch.writers = {"digest:" + acl[0].id};
  EXPECT_EQ(PassOfAGrant(NewClient(trusting)).epoch, 5);
  EXPECT_EQ(PassOfAGrant(NewClient()).epoch, 5);
  // A client that may not administer the record is not shown whose hash it is.
  ClientOptions reader = trusting;
  reader.digest_credentials = {};
  const auto refused = Lock(NewClient(reader), kEpochLock).Acquire({kSoon});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("digest:operator:x"));
  EXPECT_EQ(PassOfAGrant(NewClient({.epoch = {.use_record = false}})).epoch, 0);
  // As far as one transaction of a real server goes.
  EXPECT_EQ(Run({"epoch", "--make", "--above", "10000999", "--digest-file", users}).out,
            "10001000\n");
  EXPECT_EQ(PassOfAGrant(NewClient(trusting)).epoch, 10'001'000);
  loop->Stop();
}

}  // namespace
}  // namespace zkrecipes::integration
