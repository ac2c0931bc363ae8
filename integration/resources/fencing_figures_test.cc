// SPDX-License-Identifier: Apache-2.0
//
// Measures a checked write beside the same one without the check, and the memory that a FencingGate
// takes for ten million keys.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <gtest/gtest.h>

#include "integration/resources/kinds.h"
#include "zkrecipes/fencing/fencing_gate.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace resources {
namespace {

constexpr int kRounds = 21;
constexpr int kWrites = 40;
// The check is a comparison, or at most as many round trips again. Generous, for machines with
// other work.
constexpr double kAtMost = 8;

struct Cost {
  double checked = 0, unchecked = 0;  // microseconds a write, medians
  double ratio = 0;                   // median of the rounds'
};

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double MicrosecondsOf(absl::FunctionRef<absl::Status()> write) {
  const absl::Time start = absl::Now();
  EXPECT_EQ(write(), absl::OkStatus());
  return absl::ToDoubleMicroseconds(absl::Now() - start);
}

// One of each in turn, so that both have the same share of the machine's other work.
Cost Measure(Register& store, const Holder& holder) {
  std::vector<double> checked, unchecked, ratios;
  for (int round = 0; round <= kRounds; ++round) {
    std::vector<double> with, without;
    for (int i = 0; i < kWrites; ++i) {
      const std::string value = absl::StrCat("value ", i);
      with.push_back(MicrosecondsOf([&] { return store.Write(holder, value); }));
      without.push_back(MicrosecondsOf([&] { return store.WriteUnchecked(value); }));
    }
    if (round == 0) continue;  // until all is warm
    checked.push_back(Median(with));
    unchecked.push_back(Median(without));
    ratios.push_back(checked.back() / unchecked.back());
  }
  return {Median(checked), Median(unchecked), Median(ratios)};
}

void MeasureAndPrint(const std::string& name, const Kind& kind, const std::string& address,
                     const Holder& holder) {
  auto store = kind.connect(address);
  ASSERT_TRUE(store.ok()) << store.status();
  const Cost cost = Measure(**store, holder);
  std::printf("%-28s %9.0f us %9.0f us %7.2f\n", name.c_str(), cost.unchecked, cost.checked,
              cost.ratio);
  EXPECT_LT(cost.ratio, kAtMost) << name;
}

void MeasureAndPrint(const std::string& name, const Kind& kind,
                     absl::StatusOr<std::unique_ptr<Server>> server) {
  ASSERT_TRUE(server.ok()) << server.status();
  MeasureAndPrint(name, kind, (*server)->address(),
                  {.pass = {.token = zkrecipes::FencingToken(int64_t{1} << 40)}});
}

TEST(FencingCostTest, IsAFewTimesAnUncheckedWriteAtMost) {
  std::printf("%-28s %12s %12s %7s\n", "one write to", "unchecked", "checked", "ratio");
  for (const Kind& kind : Kinds()) MeasureAndPrint(kind.name, kind, kind.start());
#ifdef ZKRECIPES_WITH_POSTGRES
  MeasureAndPrint("postgres_columns, no fsync", PostgresColumns(), StartPostgres(false));
  MeasureAndPrint("postgres_trigger, no fsync", PostgresTrigger(), StartPostgres(false));
#endif
#ifdef ZKRECIPES_WITH_REDIS
  MeasureAndPrint("redis, in memory only", Redis(), StartRedis(false));
#endif
  const auto ensemble = zkrecipes::testing::LocalEnsemble::Start({.servers = 3});
  ASSERT_TRUE(ensemble.ok()) << ensemble.status();
  const auto client = zkrecipes::Client::Connect({.servers = (*ensemble)->servers()});
  ASSERT_TRUE(client.ok()) << client.status();
  const auto lease = zkrecipes::Lock(*client, "/locks/cost").Acquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  MeasureAndPrint("zookeeper, three servers", ZooKeeper(), (*ensemble)->servers() + "/cost",
                  {.lease = &*lease});
}

zkrecipes::FencingPass Pass(int64_t token) { return {.token = zkrecipes::FencingToken(token)}; }

int64_t ResidentBytes() {
  std::ifstream status("/proc/self/statm");
  int64_t size = 0, resident = 0;
  status >> size >> resident;
  return resident * 4096;
}

TEST(GateFiguresTest, TenMillionKeysTakeBoundedMemory) {
  const auto gate = *zkrecipes::FencingGate::Open({.max_keys = 100'000});
  const int64_t before = ResidentBytes();
  constexpr int64_t kKeys = 10'000'000;
  for (int64_t i = 1; i <= kKeys; ++i) {
    ASSERT_EQ(gate->Admit(absl::StrCat("ledger/", i), Pass(i)), absl::OkStatus());
  }
  const int64_t bytes = ResidentBytes() - before;
  std::printf("%lld keys, %zu with a floor of their own: %.0f MiB\n", static_cast<long long>(kKeys),
              gate->keys(), static_cast<double>(bytes) / (1 << 20));
  EXPECT_LE(gate->keys(), 100'000u);
  EXPECT_LT(bytes, int64_t{64} << 20);
  for (int64_t i = 2; i <= kKeys; i += 99'991) {
    EXPECT_TRUE(absl::IsFailedPrecondition(gate->Admit(absl::StrCat("ledger/", i), Pass(i - 1))));
  }
}

}  // namespace
}  // namespace resources
