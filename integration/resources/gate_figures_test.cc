// SPDX-License-Identifier: Apache-2.0
//
// The memory that a FencingGate takes for ten million keys.

#include <cstdint>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "zkrecipes/fencing_gate.h"

namespace zkrecipes {
namespace {

FencingPass Holder(int64_t token) { return {.token = FencingToken(token)}; }

int64_t ResidentBytes() {
  std::ifstream status("/proc/self/statm");
  int64_t size = 0, resident = 0;
  status >> size >> resident;
  return resident * 4096;
}

TEST(GateFigures, TenMillionKeysTakeBoundedMemory) {
  const auto gate = *FencingGate::Open({.max_keys = 100'000});
  const int64_t before = ResidentBytes();
  constexpr int64_t kKeys = 10'000'000;
  for (int64_t i = 1; i <= kKeys; ++i) {
    ASSERT_EQ(gate->Admit(absl::StrCat("ledger/", i), Holder(i)), absl::OkStatus());
  }
  const int64_t bytes = ResidentBytes() - before;
  std::printf("%lld keys, %zu with a floor of their own: %.0f MiB\n", static_cast<long long>(kKeys),
              gate->keys(), static_cast<double>(bytes) / (1 << 20));
  EXPECT_LE(gate->keys(), 100'000u);
  EXPECT_LT(bytes, int64_t{64} << 20);
  for (int64_t i = 2; i <= kKeys; i += 99'991) {
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit(absl::StrCat("ledger/", i), Holder(i - 1))));
  }
}

}  // namespace
}  // namespace zkrecipes
