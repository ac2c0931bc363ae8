// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/tls/secure_ensemble.h"
#include "integration/zkr/zkr_process.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

class ZkrTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto ensemble = SecureEnsemble::Start(1);
    ASSERT_TRUE(ensemble.ok()) << ensemble.status();
    ensemble_ = ensemble->release();
  }
  static void TearDownTestSuite() { delete std::exchange(ensemble_, nullptr); }
  void SetUp() override { ASSERT_NE(ensemble_, nullptr); }

  static std::string File(const std::string& name) { return ensemble_->files().path(name); }
  static Words Zkr(const Words& words, const std::string& session_timeout = "2s") {
    return testing::Joined({{absl::StrCat(ZKRECIPES_BIN_DIR, "/zkr"), "--servers",
                             ensemble_->servers(), "--session-timeout", session_timeout},
                            words});
  }

  static SecureEnsemble* ensemble_;
};

SecureEnsemble* ZkrTlsTest::ensemble_ = nullptr;

TEST_F(ZkrTlsTest, RunsACommandUnderALock) {
  testing::Program zkr(Zkr({"--tls-ca", File("ca"), "--tls-cert", File("certificate"), "--tls-key",
                            File("key"), "lock", "/zkr", "--", "echo", "ran"},
                           "20s"));
  EXPECT_EQ(zkr.Wait(), 0) << zkr.Err();
  EXPECT_EQ(zkr.Out(), "ran\n");
}

TEST_F(ZkrTlsTest, TakesTheFilesFromTheEnvironment) {
  testing::Program zkr(Zkr({"lock", "/zkr", "--", "echo", "ran"}, "20s"),
                       {.environment = {{"ZKR_TLS_CA", File("ca")},
                                        {"ZKR_TLS_CERT", File("certificate")},
                                        {"ZKR_TLS_KEY", File("key")}}});
  EXPECT_EQ(zkr.Wait(), 0) << zkr.Err();
}

TEST_F(ZkrTlsTest, RefusesAServerOfAnotherName) {
  testing::Program zkr(Zkr({"--tls-ca", File("ca"), "--tls-cert", File("certificate"), "--tls-key",
                            File("key"), "--tls-server-name", "zk.example", "ls", "/zkr"}));
  EXPECT_EQ(zkr.Wait(), 69);
  EXPECT_THAT(zkr.Out(), IsEmpty());
  EXPECT_THAT(zkr.Err(), HasSubstr("has a certificate that is not for \"zk.example\" but for"));
}

// Four letter words do not go through TLS: what they would say is unknown.
TEST_F(ZkrTlsTest, ADoctorSeesTheServersThatOtherCommandsUse) {
  const Words tls = {"--tls-ca",          File("ca"),  "--tls-cert",
                     File("certificate"), "--tls-key", File("key")};
  testing::Program zkr(Zkr(testing::Joined({tls, {"doctor", "/zkr", "--json"}}), "20s"));
  EXPECT_EQ(zkr.Wait(), 0) << zkr.Out() << zkr.Err();
  const auto report = nlohmann::json::parse(zkr.Out(), nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(report.is_object()) << zkr.Out();
  EXPECT_EQ(report["servers"][0]["reachable"], true);
  EXPECT_EQ(report["servers"][0]["granted_ms"], 20'000);
  EXPECT_TRUE(report["servers"][0]["mode"].is_null());
  EXPECT_TRUE(report["epoch"]["zxid"].is_null());
}

TEST_F(ZkrTlsTest, NamesAFileThatIsNotThereAndAnOptionThatIsMissing) {
  testing::Program without(Zkr({"--tls-ca", "/none/ca.pem", "ls", "/zkr"}));
  EXPECT_EQ(without.Wait(), 64);
  EXPECT_THAT(without.Err(), HasSubstr("tls: ca_file \"/none/ca.pem\": No such file or directory"));
  testing::Program keyless(
      Zkr({"--tls-ca", File("ca"), "--tls-cert", File("certificate"), "ls", "/zkr"}));
  EXPECT_EQ(keyless.Wait(), 64);
  EXPECT_THAT(keyless.Err(), HasSubstr("tls: certificate_file and key_file go together"));
}

}  // namespace
}  // namespace zkrecipes::integration
