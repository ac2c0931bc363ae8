// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <optional>
#include <thread>

#include "bench/runs.h"
#include "bench/task.h"
#include "bench/witness.h"

namespace bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double Millis(SteadyClock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

void AcquireInTurn(const Entrant& entrant, const Track& track, const nlohmann::json& terms) {
  if (entrant.peer) {
    entrant.peer->Ask(Task("wait", track, terms).dump());
  } else {
    entrant.connect({track.servers, track.path, kFailoverSessionMs})->Acquire(Mode::kExclusive);
  }
}

}  // namespace

Sample Failover(const Entrant& entrant, const Track& track) {
  const nlohmann::json terms = {{"session_ms", kFailoverSessionMs}};
  Peer holder(entrant.guest);
  holder.Ask(Task("hold", track, terms).dump());
  SteadyClock::time_point granted;
  std::thread waiter([&] {
    AcquireInTurn(entrant, track, terms);
    granted = SteadyClock::now();
  });
  std::optional<Witness> witness;
  if (entrant.is_zookeepers()) {
    witness.emplace(track.servers, track.path);
    witness->AwaitQueue(2);
    witness->WatchFirst();
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));  // it watches by then
  const auto killed = SteadyClock::now();
  holder.Kill();
  std::map<std::string, double> each;
  SteadyClock::time_point ended;
  if (witness) ended = witness->AwaitEndOfFirst();
  waiter.join();
  if (witness) each["ms after the session's end"] = Millis(granted - ended);
  return {Millis(granted - killed), each};
}

}  // namespace bench
