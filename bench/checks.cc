// SPDX-License-Identifier: Apache-2.0
//
// Times the calls that a service makes before each act, and a resource before each write:
// nanoseconds a call. Google Benchmark's options apply; `threads` in a name says how many ask at
// once.

#include <benchmark/benchmark.h>

#include <memory>
#include <optional>
#include <string>

#include "bench/or_end.h"
#include "zkrecipes/client.h"
#include "zkrecipes/fencing/fencing_gate.h"
#include "zkrecipes/lease.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/sequencer.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace bench {
namespace {

using zkrecipes::FencingGate;
using zkrecipes::FencingKey;
using zkrecipes::FencingPass;
using zkrecipes::FencingToken;
using zkrecipes::Lease;

const FencingPass kHolder = {.token = FencingToken(1)};

// On one server, which lives as long as the lease.
class Held {
 public:
  const Lease& lease() const { return lease_; }

 private:
  const std::unique_ptr<zkrecipes::testing::LocalEnsemble> servers_ =
      OrEnd(zkrecipes::testing::LocalEnsemble::Start({.servers = 1}));
  const std::shared_ptr<zkrecipes::Client> client_ =
      OrEnd(zkrecipes::Client::Connect({.servers = servers_->servers()}));
  const Lease lease_ = OrEnd(zkrecipes::Lock(client_, "/ledger").Acquire());
};

std::optional<Held>& TheHeld() {
  static std::optional<Held> held;
  return held;
}

void Hold(const benchmark::State&) { TheHeld().emplace(); }
void LetGo(const benchmark::State&) { TheHeld().reset(); }

void LeaseBelieved(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(TheHeld()->lease().believed());
}
BENCHMARK(LeaseBelieved)->Setup(Hold)->Teardown(LetGo)->ThreadRange(1, 2);

void LeaseRemaining(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(TheHeld()->lease().remaining());
}
BENCHMARK(LeaseRemaining)->Setup(Hold)->Teardown(LetGo);

// A key of its own for each benchmark, one gate for its threads.
FencingGate& Gate() {
  static const auto gate = OrEnd(FencingGate::Open());
  return *gate;
}

void Admitted(benchmark::State& state, const absl::Status& status) {
  if (!status.ok()) state.SkipWithError(status.ToString().c_str());
}

void GateAdmitsAKnownHolderByKey(benchmark::State& state) {
  FencingKey key = OrEnd(Gate().Of("ledger/1"));
  for (auto _ : state) Admitted(state, key.Admit(kHolder));
}
BENCHMARK(GateAdmitsAKnownHolderByKey)->ThreadRange(1, 2);

void GateAdmitsAKnownHolderByName(benchmark::State& state) {
  const std::string name = "ledger/2";
  for (auto _ : state) Admitted(state, Gate().Admit(name, kHolder));
}
BENCHMARK(GateAdmitsAKnownHolderByName)->ThreadRange(1, 2);

void GateAdmitsANewGrant(benchmark::State& state) {
  FencingKey key = OrEnd(Gate().Of("ledger/3"));
  static int64_t token = 0;  // a benchmark runs more than once
  for (auto _ : state) Admitted(state, key.Admit({.token = FencingToken(++token)}));
}
BENCHMARK(GateAdmitsANewGrant);

void SequencerIsParsed(benchmark::State& state) {
  const std::string text = "zkr1:exclusive:4294967302:/locks/a/_c_abcdefghijklmno-lock-0000000007";
  for (auto _ : state) benchmark::DoNotOptimize(OrEnd(zkrecipes::Sequencer::Parse(text)));
}
BENCHMARK(SequencerIsParsed);

}  // namespace
}  // namespace bench

BENCHMARK_MAIN();
