// SPDX-License-Identifier: Apache-2.0
//
// A client that is closed by one thread while others use it.

#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

#include "zkrecipes/lock.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {
namespace {

using absl::StatusCode;
using ::testing::AnyOf;

// Time stands still, so a call that is never answered never returns.
TEST(ClosingInMemory, AnswersEveryCallThatOtherThreadsMakeMeanwhile) {
  constexpr int kRounds = 200;
  InMemoryEnsemble ensemble;
  for (int round = 0; round < kRounds; ++round) {
    auto client = *ensemble.Connect();
    const auto path = [round](const char* name) { return absl::StrCat("/closing/", round, name); };
    const Lease verified = *Lock(client, path("v")).Acquire();
    Lease released = *Lock(client, path("r")).Acquire();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) {
          EXPECT_THAT(verified.Verify().code(), AnyOf(StatusCode::kOk, StatusCode::kAborted));
        }
      });
    }
    threads.emplace_back([&] {
      EXPECT_THAT(std::move(released).Release().code(),
                  AnyOf(StatusCode::kOk, StatusCode::kAborted));
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const auto lease = Lock(client, path("a")).Acquire();
        EXPECT_THAT(lease.status().code(), AnyOf(StatusCode::kOk, StatusCode::kFailedPrecondition));
      }
    });
    EXPECT_EQ(client->Close(), absl::OkStatus());
  }
}

}  // namespace
}  // namespace zkrecipes::testing
