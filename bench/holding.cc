// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/counts.h"
#include "bench/proxy.h"
#include "bench/samples.h"

namespace bench {
namespace {

constexpr int kClients = 50;
constexpr int kSessionMs = 10'000;

}  // namespace

Sample Holding(const Entrant& entrant, const Track& track, bool beats) {
  Proxy proxy(track.servers, std::chrono::microseconds(0));
  std::vector<std::unique_ptr<Crowd>> holders;
  std::vector<std::shared_ptr<Turns>> turns;
  for (int i = 0; i < kClients; ++i) {
    const std::string path = track.path + "-" + std::to_string(i);
    turns.push_back(std::make_shared<Turns>(1));  // the first is the last, and keeps the lock
    holders.push_back(entrant.gather({proxy.servers(), path, kSessionMs, false, beats}, turns[i]));
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

}  // namespace bench
