// SPDX-License-Identifier: Apache-2.0

#include "bench/runs.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration;

double Micros(Clock::duration d) { return duration<double, std::micro>(d).count(); }

// One client, which waits for nobody.
Sample Cycle(const Entrant& entrant, const Track& track) {
  const auto contestant = entrant.connect(track.servers, track.path);
  const auto cycle = [&] {
    contestant->Acquire(Mode::kExclusive);
    contestant->Release();
  };
  for (int i = 0; i < 50; ++i) cycle();
  const int cycles = std::max(10, static_cast<int>(1000 * track.scale));
  std::vector<double> micros;
  micros.reserve(cycles);
  const Counts before = Counts::Now();
  for (int i = 0; i < cycles; ++i) {
    const auto begin = Clock::now();
    cycle();
    micros.push_back(Micros(Clock::now() - begin));
  }
  return {Median(micros), static_cast<double>(cycles), Counts::Now() - before};
}

// Is true for the acquire that is the i-th of its client.
using Shares = bool (*)(int i);
bool Never(int) { return false; }
bool NineOfTen(int i) { return i % 10 != 0; }

// Cycles a second of so many clients in all, spread over the locks.
Sample Cycles(const Entrant& entrant, const Track& track, int clients, int locks, Shares shares) {
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (int i = 0; i < clients; ++i) {
    contestants.push_back(
        entrant.connect(track.servers, track.path + "-" + std::to_string(i % locks)));
  }
  std::atomic<bool> over = false;
  std::atomic<int64_t> done = 0;
  std::barrier start(clients + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      for (int turn = i; !over; ++turn) {  // clients begin at different places of the pattern
        contestants[i]->Acquire(shares(turn) ? Mode::kShared : Mode::kExclusive);
        contestants[i]->Release();
        ++done;
      }
    });
  }
  start.arrive_and_wait();
  std::this_thread::sleep_for(duration<double>(track.scale));  // everything is warm
  const Counts before = Counts::Now();
  const int64_t done_before = done;
  const auto begin = Clock::now();
  std::this_thread::sleep_for(duration<double>(4 * track.scale));
  const double cycles = done - done_before;
  const double seconds = duration<double>(Clock::now() - begin).count();
  const Counts used = Counts::Now() - before;
  over = true;
  for (std::thread& thread : threads) thread.join();
  return {cycles / seconds, cycles, used};
}

// From the call that releases to the waiter's return.
Sample HandOver(const Entrant& entrant, const Track& track) {
  const auto holder = entrant.connect(track.servers, track.path);
  const auto waiter = entrant.connect(track.servers, track.path);
  const int turns = std::max(5, static_cast<int>(150 * track.scale));
  std::vector<double> micros;
  Counts used;
  for (int i = 0; i < turns; ++i) {
    holder->Acquire(Mode::kExclusive);
    Clock::time_point granted;
    std::thread thread([&] {
      waiter->Acquire(Mode::kExclusive);
      granted = Clock::now();
      waiter->Release();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // it watches by then
    const auto begin = Clock::now();
    holder->Release();
    thread.join();
    micros.push_back(Micros(granted - begin));
  }
  return {Median(micros), static_cast<double>(turns), used};
}

Run Contended(int clients, int locks, Shares shares, std::string name) {
  return {std::move(name), "/s", true, [=](const Entrant& entrant, const Track& track) {
            return Cycles(entrant, track, clients, locks, shares);
          }};
}

}  // namespace

const std::vector<Run>& Runs() {
  static const std::vector<Run> runs = {
      {"uncontended cycle, median", "us", false, Cycle},
      {"hand-over to a waiter, median", "us", false, HandOver},
      Contended(2, 1, Never, "2 clients on one lock"),
      Contended(8, 1, Never, "8 clients on one lock"),
      Contended(32, 1, Never, "32 clients on one lock"),
      Contended(128, 1, Never, "128 clients on one lock"),
      Contended(32, 32, Never, "32 clients on 32 locks"),
      Contended(32, 1, NineOfTen, "32 clients, 90 % readers"),
  };
  return runs;
}

}  // namespace bench
