// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "bench/counts.h"
#include "bench/floor_session.h"
#include "bench/runs.h"

namespace bench {
namespace {

using std::chrono::duration;

constexpr int kWarmingCycles = 50;

std::map<std::string, double> Each(const Counts& used, double operations) {
  return {{"cpu us", used.cpu_us / operations},
          {"switches", static_cast<double>(used.voluntary_switches) / operations},
          {"allocations", static_cast<double>(used.allocations) / operations}};
}

double Millis(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

// Peers, too, are told of no other.
Track AtOneServer(Track track) {
  track.servers = track.ServerOf(0);
  return track;
}

void AcquireInTurn(const Entrant& entrant, const Track& track, const nlohmann::json& terms) {
  if (entrant.peer) {
    entrant.peer->Ask(Task("wait", track, terms).dump());
  } else {
    entrant.connect({track.servers, track.path, kFailoverSessionMs})->Acquire(Mode::kExclusive);
  }
}

}  // namespace

Sample Cycle(const Entrant& entrant, const Track& anywhere, int cycles) {
  const Track track = AtOneServer(anywhere);
  if (entrant.peer) return Asked(*entrant.peer, Task("cycle", track, {{"times", cycles}}));
  const auto contestant = entrant.connect({track.servers, track.path});
  const auto cycle = [&] {
    contestant->Acquire(Mode::kExclusive);
    contestant->Release();
  };
  for (int i = 0; i < kWarmingCycles; ++i) cycle();
  std::vector<double> micros;
  micros.reserve(cycles);
  const Counts before = Counts::Now();
  for (int i = 0; i < cycles; ++i) {
    const auto begin = Clock::now();
    cycle();
    micros.push_back(Micros(Clock::now() - begin));
  }
  return {Median(micros), Each(Counts::Now() - before, cycles)};
}

Sample Cycles(const Entrant& entrant, const Track& track, int clients, int locks, bool readers,
              int processes) {
  const double warm = 0.4 * track.scale, seconds = 1.6 * track.scale;
  if (entrant.peer) {
    return Asked(*entrant.peer, Task("cycles", track,
                                     {{"clients", clients},
                                      {"locks", locks},
                                      {"readers", readers},
                                      {"warm", warm},
                                      {"seconds", seconds}}));
  }
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (int i = 0; i < clients; ++i) {
    contestants.push_back(entrant.connect({.servers = track.ServerOf(i),
                                           .path = track.path + "-" + std::to_string(i % locks),
                                           .readers = readers,
                                           .process = i % processes}));
  }
  std::atomic<bool> over = false;
  std::atomic<int64_t> done = 0;
  std::barrier start(clients + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      for (int turn = i; !over; ++turn) {  // clients begin at different places of the pattern
        contestants[i]->Acquire(readers && turn % 10 != 0 ? Mode::kShared : Mode::kExclusive);
        contestants[i]->Release();
        ++done;
      }
    });
  }
  start.arrive_and_wait();
  std::this_thread::sleep_for(duration<double>(warm));
  const Counts before = Counts::Now();
  const int64_t done_before = done;
  const auto begin = Clock::now();
  std::this_thread::sleep_for(duration<double>(seconds));
  const auto cycles = static_cast<double>(done - done_before);
  const double took = duration<double>(Clock::now() - begin).count();
  const Counts used = Counts::Now() - before;
  over = true;
  for (std::thread& thread : threads) thread.join();
  return {cycles / took, Each(used, std::max(cycles, 1.0))};
}

Sample HandOver(const Entrant& entrant, const Track& anywhere, int turns) {
  const Track track = AtOneServer(anywhere);
  const int settle_ms = 10 + 4 * track.round_trip_ms;  // it watches by then
  if (entrant.peer) {
    return Asked(*entrant.peer,
                 Task("hand-over", track, {{"times", turns}, {"settle_ms", settle_ms}}));
  }
  const auto holder = entrant.connect({track.servers, track.path});
  const auto waiter = entrant.connect({track.servers, track.path});
  std::vector<double> micros;
  for (int i = 0; i < turns; ++i) {
    holder->Acquire(Mode::kExclusive);
    Clock::time_point granted;
    std::thread thread([&] {
      waiter->Acquire(Mode::kExclusive);
      granted = Clock::now();
      waiter->Release();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(settle_ms));
    const auto begin = Clock::now();
    holder->Release();
    thread.join();
    micros.push_back(Micros(granted - begin));
  }
  return {Median(micros), {}};
}

Sample AfterIdleness(const Entrant& entrant, const Track& track, bool again) {
  if (entrant.connect == ConnectFloor) return {};  // its session lives only while it is driven
  constexpr int kClients = 8, kSessionMs = 10'000;
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (int i = 0; i < kClients; ++i) {
    const std::string path = track.path + "-" + std::to_string(i);
    contestants.push_back(entrant.connect({track.servers, path, kSessionMs}));
    // Another client makes the lock's node: a write of the idle one would be half a proof.
    const auto other = again ? nullptr : entrant.connect({track.servers, path, kSessionMs});
    Contestant& first = again ? *contestants.back() : *other;
    first.Acquire(Mode::kExclusive);
    first.Release();
  }
  std::this_thread::sleep_for(std::chrono::seconds(12));
  std::vector<double> millis;
  for (const auto& contestant : contestants) {
    const auto begin = Clock::now();
    contestant->Acquire(Mode::kExclusive);
    millis.push_back(Millis(Clock::now() - begin));
  }
  return {Median(millis), {}};
}

Sample Failover(const Entrant& entrant, const Track& track) {
  const nlohmann::json terms = {{"session_ms", kFailoverSessionMs}};
  Peer holder(entrant.guest);
  holder.Ask(Task("hold", track, terms).dump());
  Clock::time_point granted;
  std::thread waiter([&] {
    AcquireInTurn(entrant, track, terms);
    granted = Clock::now();
  });
  std::optional<Witness> witness;
  if (entrant.is_zookeepers()) {
    witness.emplace(track.servers, track.path);
    witness->AwaitQueue(2);
    witness->WatchFirst();
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));  // it watches by then
  const auto killed = Clock::now();
  holder.Kill();
  std::map<std::string, double> each;
  Clock::time_point ended;
  if (witness) ended = witness->AwaitEndOfFirst();
  waiter.join();
  if (witness) each["ms after the session's end"] = Millis(granted - ended);
  return {Millis(granted - killed), each};
}

}  // namespace bench
