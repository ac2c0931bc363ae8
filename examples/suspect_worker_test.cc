// SPDX-License-Identifier: Apache-2.0
//
// A worker that pauses while its lease is in doubt, and stops for good when it is lost; and the tests
// that it does. No server, no sleep: the ensemble and its time are in memory.

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

// Prints cheques, of which none may be printed twice.
class ChequePrinter {
 public:
  explicit ChequePrinter(zkrecipes::Lease lease) : lease_(std::move(lease)) {}

  // Called once a second or so. False: there is nothing to come any more.
  bool Tick() {
    if (lease_.state() == zkrecipes::Lease::State::kHeld) ++printed_;
    // kSuspect is still proven, but this worker has time: it waits until the doubt is over.
    return !lease_.end_reason().has_value();
  }
  int printed() const { return printed_; }

 private:
  const zkrecipes::Lease lease_;
  int printed_ = 0;
};

class ChequePrinterTest : public testing::Test {
 protected:
  zkrecipes::testing::InMemoryEnsemble ensemble_;
  std::shared_ptr<zkrecipes::Client> client_ = *ensemble_.Connect();
  ChequePrinter printer_{*zkrecipes::Lock(client_, "/locks/cheques").Acquire()};
};

TEST_F(ChequePrinterTest, PausesWhileItsLeaseIsInDoubt) {
  ensemble_.Disconnect(*client_);  // the lease is kSuspect now
  EXPECT_TRUE(printer_.Tick());
  EXPECT_EQ(printer_.printed(), 0);
  ensemble_.Reconnect(*client_);
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return printer_.Tick() && printer_.printed() > 0; }));
}

TEST_F(ChequePrinterTest, StopsWhenItsLeaseIsLost) {
  EXPECT_TRUE(printer_.Tick());
  ensemble_.Expire(*client_);
  EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return !printer_.Tick(); }));
  EXPECT_EQ(printer_.printed(), 1);
}

TEST_F(ChequePrinterTest, StopsWithoutAnyNewsWhenTheTimeOfItsLeaseIsOver) {
  ensemble_.Pause(*client_);
  ensemble_.Advance(client_->session_timeout());
  EXPECT_FALSE(printer_.Tick());
}

}  // namespace
