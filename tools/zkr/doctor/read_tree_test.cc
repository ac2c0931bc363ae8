// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "tools/zkr/doctor/facts.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::zkr::doctor {
namespace {

// Each as if it had a server of its own, which has granted a session and is read only later.
class TwoServers : public ::testing::Test {
 protected:
  absl::Status Read() {
    facts_ = {};
    absl::Status read;
    std::atomic<bool> done = false;
    std::jthread doctor([&] {
      read = ReadTree({{"zk1:2181", first_}, {"zk2:2181", second_}}, "/q", facts_);
      done = true;
    });
    EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return done.load(); }));
    doctor.join();
    return read;
  }

  testing::InMemoryEnsemble ensemble_;
  const std::shared_ptr<Client> first_ = ensemble_.Connect().value();
  const std::shared_ptr<Client> second_ = ensemble_.Connect().value();
  Facts facts_;
};

TEST_F(TwoServers, AreReadThroughTheOneThatHasNotDiedOrFallenSilent) {
  const Lease held = Lock(second_, "/q").Acquire().value();
  for (const auto ail :
       {&testing::InMemoryEnsemble::Disconnect, &testing::InMemoryEnsemble::Silence}) {
    (ensemble_.*ail)(*first_);
    EXPECT_TRUE(Read().ok());
    EXPECT_EQ(facts_.epoch, 0);
    EXPECT_EQ(facts_.contenders.size(), 1u);
    ensemble_.Reconnect(*first_);
  }
}

TEST_F(TwoServers, ShowWhatAnotherLibrarysSemaphoreHas) {
  const std::string kazoos = "1b4e28ba2fa141d2883f0016d3cca427";
  ASSERT_TRUE(ensemble_.Create("/q"));
  ASSERT_TRUE(ensemble_.Create("/q/config"));
  ASSERT_TRUE(ensemble_.Create("/q/" + kazoos));
  EXPECT_TRUE(Read().ok());
  EXPECT_EQ(facts_.path->blind, std::vector{kazoos});
}

TEST_F(TwoServers, OfWhichNeitherAnswersShowNothing) {
  ensemble_.Disconnect(*first_);
  ensemble_.Disconnect(*second_);
  EXPECT_TRUE(absl::IsUnavailable(Read()));
  EXPECT_FALSE(facts_.epoch);
  EXPECT_TRUE(absl::IsUnavailable(ReadTree({}, "/q", facts_)));
}

}  // namespace
}  // namespace zkrecipes::zkr::doctor
