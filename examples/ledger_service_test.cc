// SPDX-License-Identifier: Apache-2.0
//
// A service's own unit tests: the ensemble is in memory, and the service's lock is lost in
// microseconds. Includes and links nothing but the installed headers and zkrecipes::testing.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "zkrecipes/fencing_floor.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

using zkrecipes::Client;
using zkrecipes::Lease;
using zkrecipes::Lock;
using zkrecipes::testing::InMemoryEnsemble;

// ---- the service --------------------------------------------------------------------------------

// Where the entries go. Refuses what is older than what it has been shown.
class Ledger {
 public:
  bool Write(const zkrecipes::FencingPass& pass, const std::string& entry) {
    if (!floor_.Admit(pass).ok()) return false;
    entries_.push_back(entry);
    return true;
  }
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  zkrecipes::FencingFloor floor_;
  std::vector<std::string> entries_;
};

// Writes to the ledger while it has the lock.
class LedgerService {
 public:
  LedgerService(std::shared_ptr<Client> client, Ledger* ledger)
      : lock_(std::move(client), "/locks/ledger"), ledger_(ledger) {}

  absl::Status Start() {
    auto lease = lock_.Acquire({absl::Seconds(30)});
    if (!lease.ok()) return lease.status();
    lease_ = *std::move(lease);
    return absl::OkStatus();
  }

  bool Write(const std::string& entry) {
    if (!lease_.has_value() || !lease_->believed()) return false;
    return WriteUnchecked(entry);
  }
  // As from a thread that was frozen between the check and the write.
  bool WriteUnchecked(const std::string& entry) { return ledger_->Write(lease_->pass(), entry); }

 private:
  Lock lock_;
  Ledger* const ledger_;
  std::optional<Lease> lease_;
};

// ---- its tests ----------------------------------------------------------------------------------

class LedgerServiceTest : public testing::Test {
 protected:
  InMemoryEnsemble ensemble_;
  std::shared_ptr<Client> first_client_ = *ensemble_.Connect();
  std::shared_ptr<Client> second_client_ = *ensemble_.Connect();
  Ledger ledger_;
  LedgerService first_{first_client_, &ledger_};
  LedgerService second_{second_client_, &ledger_};
};

TEST_F(LedgerServiceTest, WritesWhileItHasTheLock) {
  ASSERT_TRUE(first_.Start().ok());
  EXPECT_TRUE(first_.Write("a"));
}

TEST_F(LedgerServiceTest, WithoutAConnectionWritesOnlyWhileItsLeaseIsBelieved) {
  ASSERT_TRUE(first_.Start().ok());
  ensemble_.Disconnect(*first_client_);
  EXPECT_TRUE(first_.Write("a"));  // nobody else can have the lock yet
  ensemble_.Advance(absl::Minutes(1));
  EXPECT_FALSE(first_.Write("b"));
}

TEST_F(LedgerServiceTest, StopsWritingWhenItsSessionExpires) {
  ASSERT_TRUE(first_.Start().ok());
  ensemble_.Expire(*first_client_);
  ensemble_.Advance(absl::Seconds(1));  // it reconnects, and is told
  ASSERT_TRUE(second_.Start().ok());
  EXPECT_FALSE(first_.Write("a"));
  EXPECT_TRUE(second_.Write("b"));
}

TEST_F(LedgerServiceTest, AFrozenWritersLateEntryIsRefused) {
  ASSERT_TRUE(first_.Start().ok());
  ensemble_.Pause(*first_client_);
  ensemble_.Advance(absl::Minutes(1));
  ASSERT_TRUE(second_.Start().ok());
  ensemble_.Advance(absl::Seconds(1));  // the first lease after idleness is proven a moment later
  EXPECT_TRUE(second_.Write("b"));
  EXPECT_FALSE(first_.WriteUnchecked("a"));
  EXPECT_EQ(ledger_.entries(), std::vector<std::string>{"b"});
}

}  // namespace
