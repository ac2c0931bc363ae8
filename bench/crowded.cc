// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "bench/counts.h"
#include "bench/proxy.h"
#include "bench/samples.h"
#include "bench/witness.h"

namespace bench {
namespace {

constexpr int kSessions = 100;
constexpr int kHandOffs = 300;  // all of them at about the same length of the queue

}  // namespace

Sample Crowded(const Entrant& entrant, const Track& track, int waiters) {
  Proxy proxy(track.servers, std::chrono::microseconds(0));
  const Place place = {proxy.servers(), track.path};
  const auto holder = entrant.connect({track.servers, track.path});
  holder->Acquire(Mode::kExclusive);
  const auto turns = std::make_shared<Turns>(kHandOffs);
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
  const int64_t bytes_before = proxy.traffic().bytes;
  const auto released = Clock::now();
  holder->Release();
  while (turns->granted < kHandOffs) std::this_thread::sleep_for(std::chrono::microseconds(200));
  const std::chrono::duration<double> took = Clock::now() - released;
  const auto bytes = static_cast<double>(proxy.traffic().bytes - bytes_before);
  return {kHandOffs / took.count(),
          {{"bytes", bytes / kHandOffs},
           {"kB a waiter", kilobytes / waiters},
           {"ms to queue", 1000 * queueing.count() / waiters}}};
}

}  // namespace bench
