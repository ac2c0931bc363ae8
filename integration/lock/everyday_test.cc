// SPDX-License-Identifier: Apache-2.0
//
// Leases that outlive what happens to servers every day. Nightly: a lease lives for a few seconds
// without its server, and a machine may stand still for longer.

#include <memory>
#include <optional>
#include <vector>

#include "gmock/gmock.h"

#include "integration/fixtures/client_fixture.h"
#include "integration/fixtures/stall.h"

namespace zkrecipes::integration {
namespace {

class EverydayTest : public ClientTest, public ::testing::WithParamInterface<int> {
 protected:
  // One lease on each of the servers, at a session timeout of GetParam() seconds.
  void Hold() {
    held_.clear();
    for (int i = 0; i < ensemble().size(); ++i) {
      const std::string others = servers();
      auto client = NewClient({.session_timeout = absl::Seconds(GetParam())});
      Lease lease = Acquired(client, absl::StrCat(node_path(), "/", i));
      held_.push_back({std::move(client), std::move(lease)});
      // Until it is on the server of its number.
      while (ensemble().ServerOf(held_.back().client->session_id()) != i) {
        EXPECT_EQ(held_.back().client->SetServers(ensemble().server(i)), absl::OkStatus());
        absl::SleepFor(absl::Milliseconds(200));
      }
      EXPECT_EQ(held_.back().client->SetServers(others), absl::OkStatus());
    }
    EXPECT_TRUE(Eventually([&] { return Held() == ensemble().size(); }));
  }
  int Held() const {
    return static_cast<int>(std::ranges::count_if(
        held_, [](const Holder& h) { return h.lease.state() == Lease::State::kHeld; }));
  }
  int Lost() const {
    return static_cast<int>(
        std::ranges::count_if(held_, [](const Holder& h) { return !h.lease.believed(); }));
  }
  // How many leases were lost by the time all were well again.
  int LostBy(const std::function<void()>& fault) {
    return Undisturbed([&] {
      EXPECT_EQ(ensemble().Heal(), absl::OkStatus());
      Hold();
      absl::SleepFor(absl::Seconds(GetParam()) / 2);
      fault();
      Eventually([&] { return Lost() > 0 || Held() == ensemble().size(); });
      const int lost = Lost();
      EXPECT_EQ(ensemble().Heal(), absl::OkStatus());
      return lost;
    });
  }
  absl::Duration timeout() const { return absl::Seconds(GetParam()); }

 private:
  struct Holder {
    std::shared_ptr<Client> client;
    Lease lease;
  };
  std::vector<Holder> held_;
};

INSTANTIATE_TEST_SUITE_P(Timeouts, EverydayTest, ::testing::Values(4, 10, 30));

TEST_P(EverydayTest, AFollowerStandsStillForAsLongAsASessionLives) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  EXPECT_EQ(LostBy([&] {
              ASSERT_EQ(members().Pause(Follower()), absl::OkStatus());
              absl::SleepFor(timeout());
            }),
            0);
}

TEST_P(EverydayTest, AllServersStandStillForAQuarterOfTheTimeout) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  EXPECT_EQ(LostBy([&] {
              for (int i = 0; i < 3; ++i) ASSERT_EQ(members().Pause(i), absl::OkStatus());
              absl::SleepFor(std::min(timeout() / 4, absl::Seconds(3)));
              for (int i = 0; i < 3; ++i) ASSERT_EQ(members().Resume(i), absl::OkStatus());
            }),
            0);
}

TEST_P(EverydayTest, TheFollowersAreStartedAgainOneAfterAnother) {
  ZKRECIPES_REQUIRE_OWN_ENSEMBLE();
  EXPECT_EQ(LostBy([&] {
              const int leader = Leader();
              for (int i = 0; i < 3; ++i) {
                if (i == leader) continue;
                ASSERT_EQ(members().Stop(i), absl::OkStatus());
                ASSERT_EQ(members().Start(i), absl::OkStatus());
                ASSERT_EQ(members().WaitForAll(kSoon), absl::OkStatus());
              }
            }),
            0);
}

}  // namespace
}  // namespace zkrecipes::integration
