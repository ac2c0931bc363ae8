// SPDX-License-Identifier: Apache-2.0
//
// A program that uses Apache's multi-threaded C client beside this library. It is built twice: with
// that library linked before ours, and after it. (The test `symbols` checks the names.)

#include <dlfcn.h>

#include <atomic>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <zookeeper.h>

#include "integration/fixtures/client_fixture.h"

namespace zkrecipes::integration {
namespace {

using ::testing::HasSubstr;

// A handle of the other client; its calls block.
class OtherClient {
 public:
  explicit OtherClient(const std::string& servers) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    handle_ = zookeeper_init(servers.c_str(), &OtherClient::Watch, 20'000, nullptr, this, 0);
    EXPECT_TRUE(Eventually([this] { return connected_.load(); }));
  }
  ~OtherClient() { zookeeper_close(handle_); }

  int64_t id() const { return zoo_client_id(handle_)->client_id; }
  Stat Exists(const std::string& path) {
    Stat stat{};
    EXPECT_EQ(zoo_exists(handle_, path.c_str(), 0, &stat), ZOK) << path;
    return stat;
  }
  int Create(const std::string& path, int flags) {
    return zoo_create(handle_, path.c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE, flags, nullptr, 0);
  }
  int Delete(const std::string& path) { return zoo_delete(handle_, path.c_str(), -1); }

 private:
  static void Watch(zhandle_t*, int type, int state, const char*, void* self) {
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE) {
      static_cast<OtherClient*>(self)->connected_ = true;
    }
  }

  std::atomic<bool> connected_ = false;
  zhandle_t* handle_ = nullptr;
};

// The file that a function was loaded from.
template <typename F>
std::string FileOf(F* function) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(function), &info) != 0 ? info.dli_fname : "";
}

class TwoClientsTest : public ClientTest {};

TEST_F(TwoClientsTest, EachNameOfTheCClientIsTheOtherLibrarys) {
  EXPECT_THAT(FileOf(&zookeeper_init), HasSubstr("libzookeeper_mt"));
  EXPECT_THAT(FileOf(&zoo_create), HasSubstr("libzookeeper_mt"));
  EXPECT_THAT(FileOf(&zookeeper_close), HasSubstr("libzookeeper_mt"));
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "rcpzk_zookeeper_init"), nullptr);
}

TEST_F(TwoClientsTest, BothTalkToTheEnsembleAndSeeTheSame) {
  auto ours = NewClient();
  OtherClient other(servers());
  Lease lease = Acquired(ours);
  EXPECT_EQ(other.Delete(node_path() + "-barrier"), ZNONODE);  // so that its server is not behind
  const Stat stat = other.Exists(lease.node());
  EXPECT_EQ(stat.czxid, lease.token().value());
  EXPECT_EQ(stat.ephemeralOwner, ours->session_id());
  EXPECT_NE(other.id(), ours->session_id());
  EXPECT_EQ(other.Create(node_path() + "/other", ZOO_EPHEMERAL), ZOK);
  EXPECT_EQ(Queue(*ours).size(), 1u) << "what is no contender is ignored";
  EXPECT_EQ(other.Delete(lease.node()), ZOK);
  EXPECT_TRUE(Eventually([&] { return lease.ended().stop_requested(); }));
}

TEST_F(TwoClientsTest, BothWorkAtTheSameTimeAndEitherMayCloseFirst) {
  for (const bool ours_first : {true, false}) {
    auto ours = NewClient();
    auto other = std::make_unique<OtherClient>(servers());
    EXPECT_EQ(Acquired(ours).Release({kSoon}), absl::OkStatus());  // the parent is there now
    std::thread thread([&] {
      for (int i = 0; i < 100; ++i) {
        const std::string path = node_path() + "-other";
        EXPECT_EQ(other->Create(path, ZOO_EPHEMERAL), ZOK);
        EXPECT_EQ(other->Delete(path), ZOK);
      }
    });
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(Acquired(ours).Release({kSoon}), absl::OkStatus());
    }
    thread.join();
    if (ours_first) {
      EXPECT_EQ(ours->Close({kSoon}), absl::OkStatus());
      EXPECT_EQ(other->Exists("/").ephemeralOwner, 0);
    } else {
      other = nullptr;
      EXPECT_EQ(Acquired(ours).Release({kSoon}), absl::OkStatus());
    }
  }
}

}  // namespace
}  // namespace zkrecipes::integration
