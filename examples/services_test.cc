// SPDX-License-Identifier: Apache-2.0
//
// Three services and their unit tests, without a server and a sleep: the ensemble and its time are
// in memory. AdvanceUntil lets that time pass while a service's own thread waits. Nothing but the
// installed headers and zkrecipes::testing is needed. (scheduler_test.cc tests one that leads.)

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "zkrecipes/fencing/fencing_floor.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace {

using zkrecipes::Client;
using zkrecipes::Lease;
using zkrecipes::Lock;
using zkrecipes::testing::InMemoryEnsemble;

// ---- a worker that pauses while its lease is in doubt, and stops when it is lost ----------------

// Prints cheques, of which none may be printed twice.
class ChequePrinter {
 public:
  explicit ChequePrinter(Lease lease) : lease_(std::move(lease)) {}

  // Called once a second or so. False: there is nothing to come any more.
  bool Tick() {
    if (lease_.state() == Lease::State::kHeld) ++printed_;
    // kSuspect is still proven, but this worker has time: it waits until the doubt is over.
    return !lease_.end_reason().has_value();
  }
  int printed() const { return printed_; }

 private:
  const Lease lease_;
  int printed_ = 0;
};

class ChequePrinterTest : public testing::Test {
 protected:
  InMemoryEnsemble ensemble_;
  std::shared_ptr<Client> client_ = *ensemble_.Connect();
  ChequePrinter printer_{*Lock(client_, "/locks/cheques").Acquire()};
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

// ---- a service that waits for a bounded time, and then answers that it is busy ------------------

// Answers requests for reports, which are made one at a time.
class Reports {
 public:
  explicit Reports(std::shared_ptr<Client> client) : lock_(std::move(client), "/locks/reports") {}

  std::string Answer() const {
    const auto lease = lock_.Acquire({absl::Seconds(30)});
    if (lease.ok()) return "200";
    return absl::IsDeadlineExceeded(lease.status()) ? "503, try later" : "500";
  }

 private:
  const Lock lock_;
};

class ReportsTest : public testing::Test {
 protected:
  // The answer to a request while the ensemble's time goes on.
  std::string Request() {
    std::string answer;
    std::atomic<bool> answered = false;
    std::jthread request([&] {
      answer = Reports(client_).Answer();
      answered = true;
    });
    EXPECT_TRUE(ensemble_.AdvanceUntil([&] { return answered.load(); }));
    return answer;
  }

  InMemoryEnsemble ensemble_;
  std::shared_ptr<Client> client_ = *ensemble_.Connect();
  std::shared_ptr<Client> other_ = *ensemble_.Connect();
};

TEST_F(ReportsTest, SayTheyAreBusyAfterHalfAMinute) {
  const Lease held = *Lock(other_, "/locks/reports").Acquire();
  EXPECT_EQ(Request(), "503, try later");
  EXPECT_GE(ensemble_.Elapsed(), absl::Seconds(30));
}

TEST_F(ReportsTest, AreMadeOnceTheOtherHasGone) {
  const Lease held = *Lock(other_, "/locks/reports").Acquire();
  ensemble_.Silence(*other_);  // its process is dead, and its session has to expire first
  EXPECT_EQ(Request(), "200");
}

// ---- a ledger that refuses a stale entry, and the service that writes it ------------------------

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
  EXPECT_TRUE(second_.Write("b"));
  EXPECT_FALSE(first_.WriteUnchecked("a"));
  EXPECT_EQ(ledger_.entries(), std::vector<std::string>{"b"});
}

}  // namespace
