// SPDX-License-Identifier: Apache-2.0
//
// Locks that stay where they are used, beside locks that do not.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "bench/runs.h"

namespace bench {
namespace {

void Cycle(Contestant& contestant, int times = 1) {
  for (int i = 0; i < times; ++i) {
    contestant.Acquire(Mode::kExclusive);
    contestant.Release();
  }
}

std::unique_ptr<Contestant> Connect(const Entrant& entrant, const Track& track, int process) {
  return entrant.connect(
      {.servers = track.ServerOf(process), .path = track.path, .process = process});
}

// Of the floor's cycle, so many that a lock stays, and has paid for itself.
constexpr int kUntilItStays = 200;
constexpr auto kSettle = std::chrono::milliseconds(10);

}  // namespace

Sample Again(const Entrant& entrant, const Track& track, int times) {
  const auto contestant = Connect(entrant, track, 0);
  Cycle(*contestant, 50);
  std::this_thread::sleep_for(kSettle);
  const bool kept = entrant.connect == ConnectKept;
  const int cycles = kept ? 1000 * times : times;
  const auto begin = Clock::now();
  Cycle(*contestant, cycles);
  return {Micros(Clock::now() - begin) / cycles, {}};
}

Sample Alternating(const Entrant& entrant, const Track& track, int times) {
  const auto one = Connect(entrant, track, 0), two = Connect(entrant, track, 1);
  std::vector<double> micros;
  for (int i = 0; i < times; ++i) {
    const auto begin = Clock::now();
    Cycle(i % 2 == 0 ? *one : *two);
    micros.push_back(Micros(Clock::now() - begin));
  }
  return {Median(micros), {}};
}

Sample Newcomer(const Entrant& entrant, const Track& track, int times) {
  const auto user = Connect(entrant, track, 0), newcomer = Connect(entrant, track, 1);
  std::vector<double> micros;
  for (int i = 0; i < times; ++i) {
    Cycle(*user, entrant.connect == ConnectKept ? kUntilItStays : 1);
    std::this_thread::sleep_for(kSettle);
    const auto begin = Clock::now();
    newcomer->Acquire(Mode::kExclusive);
    micros.push_back(Micros(Clock::now() - begin));
    newcomer->Release();
  }
  return {Median(micros), {}};
}

Sample NewcomerBeside(const Entrant& entrant, const Track& track, int times) {
  if (!entrant.servers.empty()) return {};  // a key of Redis is not waited for
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, contestant = std::shared_ptr(Connect(entrant, track, 0))] {
      while (!over) Cycle(*contestant);
    });
  }
  const auto newcomer = Connect(entrant, track, 1);
  std::vector<double> millis;
  for (int i = 0; i < times; ++i) {
    std::this_thread::sleep_for(kSettle);
    const auto begin = Clock::now();
    newcomer->Acquire(Mode::kExclusive);
    millis.push_back(Micros(Clock::now() - begin) / 1000);
    newcomer->Release();
  }
  over = true;
  for (std::thread& thread : threads) thread.join();
  std::sort(millis.begin(), millis.end());
  Sample sample = {Median(millis), {{"ms at most", millis.back()}}};
  sample.each["ms in 99 of 100"] = millis[millis.size() * 99 / 100];
  for (const double limit : {0.5, 1., 2., 5., 10., 20., 50., 100., 200.}) {
    const auto within = std::upper_bound(millis.begin(), millis.end(), limit) - millis.begin();
    sample.each["within " + nlohmann::json(limit).dump() + " ms"] =
        static_cast<double>(within) / static_cast<double>(millis.size());
  }
  return sample;
}

}  // namespace bench
