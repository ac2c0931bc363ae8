// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/counts.h"
#include "bench/floor_session.h"
#include "bench/proxy.h"
#include "bench/runs.h"

namespace bench {
namespace {

constexpr int kSessions = 100;
constexpr int kHandOffs = 300;  // all of them at about the same length of the queue
constexpr int kQuarters = 4;

struct Mark {
  int granted;
  Clock::time_point when;
  int64_t bytes;
};

Mark MarkNow(const Turns& turns, const Proxy& proxy) {
  return {turns.granted, Clock::now(), proxy.traffic().bytes};
}

Mark AwaitTurn(int granted, const Turns& turns, const Proxy& proxy) {
  while (turns.granted < granted) std::this_thread::sleep_for(std::chrono::microseconds(200));
  return MarkNow(turns, proxy);
}

double Rate(const Mark& from, const Mark& to) {
  return (to.granted - from.granted) / std::chrono::duration<double>(to.when - from.when).count();
}

double BytesEach(const Mark& from, const Mark& to) {
  return static_cast<double>(to.bytes - from.bytes) / (to.granted - from.granted);
}

}  // namespace

// Some hand-offs at the full length of the queue are timed, and then all others, a quarter at a
// time.
Sample Crowded(const Entrant& entrant, const Track& track, int waiters) {
  Proxy proxy(track.servers);
  const Place place = {proxy.servers(), track.path};
  const auto holder = entrant.connect({track.servers, track.path});
  holder->Acquire(Mode::kExclusive);
  const auto turns = std::make_shared<Turns>(waiters);
  std::vector<std::unique_ptr<Crowd>> crowds;
  for (int i = 0; i < kSessions; ++i) crowds.push_back(entrant.gather(place, turns));
  Witness witness(track.servers, track.path);
  const double allocated = Allocated();
  const auto begin = Clock::now();
  for (int queued = 0; queued < waiters; queued += kSessions) {
    for (const auto& crowd : crowds) crowd->Add();
    witness.AwaitQueue(1 + queued + kSessions);
  }
  const std::chrono::duration<double> queueing = Clock::now() - begin;
  // Until all watch. A long wait also watches its own node, after a tenth of its session's timeout.
  std::this_thread::sleep_for(std::chrono::duration<double>(5 * track.scale));
  const double kilobytes = (Allocated() - allocated) / 1024;
  const Mark released = MarkNow(*turns, proxy);
  holder->Release();
  const Mark full = AwaitTurn(kHandOffs, *turns, proxy);
  Sample sample = {Rate(released, full),
                   {{"bytes", BytesEach(released, full)},
                    {"kB a waiter", kilobytes / waiters},
                    {"ms to queue", 1000 * queueing.count() / waiters}}};
  Mark last = released;
  for (int quarter = 1; quarter <= kQuarters; ++quarter) {
    const Mark now = AwaitTurn(waiters / kQuarters * quarter, *turns, proxy);
    sample.each["/s, quarter " + std::to_string(quarter)] = Rate(last, now);
    sample.each["bytes, quarter " + std::to_string(quarter)] = BytesEach(last, now);
    last = now;
  }
  sample.each["s to drain"] = std::chrono::duration<double>(last.when - released.when).count();
  return sample;
}

}  // namespace bench
