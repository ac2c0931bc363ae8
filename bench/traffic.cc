// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/counts.h"
#include "bench/proxy.h"
#include "bench/runs.h"

namespace bench {
namespace {

constexpr int kClients = 50;
constexpr int kSessionMs = 10'000;

}  // namespace

Sample Holding(const Entrant& entrant, const Track& track) {
  Proxy proxy(track.servers);
  std::vector<std::unique_ptr<Crowd>> holders;
  std::vector<std::shared_ptr<Turns>> turns;
  for (int i = 0; i < kClients; ++i) {
    const std::string path = track.path + "-" + std::to_string(i);
    turns.push_back(std::make_shared<Turns>(1));  // the first is the last, and keeps the lock
    holders.push_back(entrant.gather({proxy.servers(), path, kSessionMs}, turns[i]));
    holders[i]->Add();
  }
  for (const auto& each : turns) {
    while (each->granted < 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Until each watches its own node, and has its pace.
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * track.scale));
  const Traffic traffic_before = proxy.traffic();
  const Counts counts_before = Counts::Now();
  const auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(10 * track.scale));
  const std::chrono::duration<double> took = Clock::now() - begin;
  const double each = kClients * took.count();
  const Traffic traffic = proxy.traffic();
  return {static_cast<double>(traffic.requests - traffic_before.requests) / each,
          {{"bytes/s", static_cast<double>(traffic.bytes - traffic_before.bytes) / each},
           {"cpu us/s, with the proxy's", (Counts::Now() - counts_before).cpu_us / each}}};
}

// Connecting, and what else a sample does once, is the same in a short and a long one.
Sample Wire(Sample (*sample)(const Entrant&, const Track&, int turns), const Entrant& entrant,
            const Track& track) {
  constexpr int kFew = 20, kMany = 60;
  Proxy proxy(track.servers);
  const auto passes = [&](int turns) {
    const Traffic before = proxy.traffic();
    sample(entrant, {proxy.servers(), track.path + "-" + std::to_string(turns)}, turns);
    const Traffic after = proxy.traffic();
    return Traffic{after.requests - before.requests, after.bytes - before.bytes};
  };
  const Traffic few = passes(kFew), many = passes(kMany);
  constexpr double kMore = kMany - kFew;
  Sample each{static_cast<double>(many.bytes - few.bytes) / kMore, {}};
  if (entrant.is_zookeepers()) {
    each.each["requests"] = static_cast<double>(many.requests - few.requests) / kMore;
  }
  return each;
}

}  // namespace bench
