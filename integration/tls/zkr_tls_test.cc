// SPDX-License-Identifier: Apache-2.0

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/tls/secure_ensemble.h"
#include "integration/zkr/zkr_process.h"
#include "lib/base/unique_fd.h"
#include "zkrecipes/client.h"
#include "zkrecipes/lock.h"

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
                            File("key"), "--tls-server-name", "zk.example", "ls", "/zkr"},
                           "6s"));
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
  const std::string ca = File("ca"), own = File("certificate"), none = "/none/a.pem";
  const std::string not_there = " \"/none/a.pem\": No such file or directory";
  const std::pair<Words, std::string> refused[] = {
      {{"--tls-ca", none}, "--tls-ca" + not_there},
      {{"--tls-ca", ca, "--tls-crl", none}, "--tls-crl" + not_there},
      {{"--tls-ca", ca, "--tls-cert", none, "--tls-key", none}, "--tls-cert" + not_there},
      {{"--tls-ca", ca, "--tls-cert", own, "--tls-key", none}, "--tls-key" + not_there},
      {{"--tls-ca", ca, "--tls-server-name", "a:1"}, "--tls-server-name \"a:1\": must be"},
      {{"--tls-ca", ca, "--tls-cert", own}, "--tls-cert and --tls-key go together"},
      {{"--tls-cert", own}, "--tls-ca must name the authorities"}};
  for (const auto& [flags, why] : refused) {
    testing::Program zkr(Zkr(testing::Joined({flags, {"ls", "/zkr"}})));
    EXPECT_EQ(zkr.Wait(), 64) << why;
    EXPECT_THAT(zkr.Err(), HasSubstr("tls: " + why));
  }
}

// All packets of the loopback device are captured while a client is at work.
constexpr char kPassword[] = "seventeen-camels";
constexpr char kPath[] = "/captured-path";

// A packet socket on the loopback device, and all that it gets until it is stopped.
class Capture {
 public:
  // nullptr without the right to capture.
  static std::unique_ptr<Capture> Start() {
    base::UniqueFd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_IP)));
    if (!socket.valid()) return nullptr;
    sockaddr_ll loopback = {};
    loopback.sll_family = AF_PACKET;
    loopback.sll_protocol = htons(ETH_P_IP);
    loopback.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
    const timeval patience = {.tv_sec = 0, .tv_usec = 50'000};
    const int room = 64 << 20;
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) != 0 ||
        setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) != 0) {
      return nullptr;
    }
    return std::unique_ptr<Capture>(new Capture(std::move(socket)));
  }
  // All that travelled before this call.
  std::string Stop() {
    stopped_ = true;
    const base::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in nobody = {};
    nobody.sin_family = AF_INET;
    nobody.sin_port = htons(9);  // to discard
    nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)sendto(socket.get(), last_.data(), last_.size(), 0,
                 reinterpret_cast<const sockaddr*>(&nobody), sizeof nobody);
    thread_.join();
    return std::move(bytes_);
  }

 private:
  explicit Capture(base::UniqueFd socket)
      : socket_(std::move(socket)), thread_([this] { Run(); }) {}
  // Reads on until Stop's packet: what others do on the device may never end. If that packet is
  // lost, until there is nothing left.
  void Run() {
    std::vector<char> frame(1 << 17);
    while (true) {
      const bool last = stopped_;
      const ssize_t got = recv(socket_.get(), frame.data(), frame.size(), 0);
      if (got <= 0 && last) return;
      const absl::string_view packet(frame.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
      bytes_.append(packet.data(), packet.size());
      if (absl::StrContains(packet, last_)) return;
    }
  }

  const base::UniqueFd socket_;
  const std::string last_ = absl::StrCat("the end of the capture of process ", getpid());
  std::atomic<bool> stopped_ = false;
  std::string bytes_;
  std::thread thread_;
};

class CaptureTest : public ::testing::Test {
 protected:
  // Captures the traffic while a client acquires and releases a lock as a user.
  static void Work(ClientOptions options, std::string& captured) {
    options.digest_credentials = {absl::StrCat("user:", kPassword)};
    auto capture = Capture::Start();
    if (capture == nullptr) GTEST_SKIP() << "needs the right to capture packets";
    {
      auto client = Client::Connect(std::move(options), {kSoon});
      EXPECT_TRUE(client.ok()) << client.status();
      if (client.ok()) {
        auto lease = Lock(*client, kPath).Acquire({kSoon});
        EXPECT_TRUE(lease.ok()) << lease.status();
        if (lease.ok()) {
          EXPECT_EQ(std::move(*lease).Release({kSoon}), absl::OkStatus());
        }
      }
    }
    captured = capture->Stop();
  }
};

TEST_F(CaptureTest, ShowsNeitherPasswordNorPathUnderTlsAndBothWithoutIt) {
  auto plain = testing::LocalEnsemble::Start({.servers = 1});
  ASSERT_TRUE(plain.ok()) << plain.status();
  std::string captured;
  Work({.servers = (*plain)->servers()}, captured);
  if (IsSkipped()) return;
  EXPECT_TRUE(absl::StrContains(captured, kPassword)) << "it is searched for where it is";
  EXPECT_TRUE(absl::StrContains(captured, kPath));

  auto secure = SecureEnsemble::Start(1);
  ASSERT_TRUE(secure.ok()) << secure.status();
  Work({.servers = (*secure)->servers(), .tls = (*secure)->options()}, captured);
  EXPECT_GT(captured.size(), 2000u) << "that was a whole conversation";
  EXPECT_FALSE(absl::StrContains(captured, kPassword));
  EXPECT_FALSE(absl::StrContains(captured, kPath));
}

}  // namespace
}  // namespace zkrecipes::integration
