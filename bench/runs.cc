// SPDX-License-Identifier: Apache-2.0

#include "bench/runs.h"

#include <utility>

namespace bench {
namespace {

using Sampler = Sample (*)(const Entrant&, const Track&, int turns);

// Of so many turns; peers, some of which are slow, get `peers_turns`.
Run Repeated(std::string name, Sampler sampler, int turns, int peers_turns, int round_trip_ms = 0) {
  const auto sample = [=](const Entrant& entrant, const Track& track) {
    const double times = (entrant.peer ? peers_turns : turns) * track.scale;
    return sampler(entrant, track, std::max(10, static_cast<int>(times)));
  };
  return {std::move(name), "us", sample, round_trip_ms};
}

Run Contended(int clients, int locks, bool readers, std::string name, int round_trip_ms = 0) {
  const auto sample = [=](const Entrant& entrant, const Track& track) {
    return Cycles(entrant, track, clients, locks, readers);
  };
  return {std::move(name), "/s", sample, round_trip_ms};
}

Run OnTheWire(std::string name, Sampler sampler) {
  const auto sample = [=](const Entrant& entrant, const Track& track) {
    return Wire(sampler, entrant, track);
  };
  return {.name = std::move(name), .unit = "bytes", .sample = sample, .most_rounds = 1};
}

Run Waiting(int waiters, std::string name, int most_rounds, bool quick) {
  const auto sample = [=](const Entrant& entrant, const Track& track) {
    return Crowded(entrant, track, waiters);
  };
  return {std::move(name), "/s", sample, 0, most_rounds, quick, false};
}

Run Idle(bool again, std::string name) {
  const auto sample = [=](const Entrant& entrant, const Track& track) {
    return AfterIdleness(entrant, track, again);
  };
  return {std::move(name), "ms", sample, 0, 3, false, false};
}

Run OfKept(std::string name, const char* unit, Sampler sampler, int times) {
  const auto sample = [=](const Entrant& entrant, const Track& track) {
    return sampler(entrant, track, std::max(10, static_cast<int>(times * track.scale)));
  };
  return {.name = std::move(name), .unit = unit, .sample = sample, .peers = false, .kept = true};
}

Run OfProcesses(int processes, std::string name) {
  const auto sample = [=](const Entrant& entrant, const Track& track) {
    if (!entrant.servers.empty()) return Sample();  // a key of Redis is not waited for
    return Cycles(entrant, track, 8, 1, false, processes);
  };
  return {.name = std::move(name), .unit = "/s", .sample = sample, .peers = false, .kept = true};
}

}  // namespace

const std::vector<Run>& Runs() {
  static const std::vector<Run> runs = {
      Repeated("uncontended cycle, median", Cycle, 1000, 400),
      Repeated("hand-over to a waiter, median", HandOver, 100, 100),
      Contended(2, 1, false, "2 clients on one lock"),
      Contended(8, 1, false, "8 clients on one lock"),
      Contended(32, 1, false, "32 clients on one lock"),
      Contended(128, 1, false, "128 clients on one lock"),
      Contended(32, 32, false, "32 clients on 32 locks"),
      Contended(32, 1, true, "32 clients, 90 % readers"),
      Repeated("uncontended cycle at 5 ms", Cycle, 60, 60, 5),
      Repeated("hand-over at 5 ms", HandOver, 40, 40, 5),
      Contended(8, 1, false, "8 clients on one lock at 5 ms", 5),
      OfKept("one thread, again and again", "us", Again, 300),
      OfProcesses(1, "8 threads of one process"),
      OfProcesses(2, "8 threads of two processes"),
      OfKept("two processes that take turns", "us", Alternating, 200),
      OfKept("newcomer to an idle lock", "us", Newcomer, 40),
      OfKept("newcomer beside 8 threads", "ms", NewcomerBeside, 100),
      OnTheWire("uncontended cycle, wire", Cycle),
      OnTheWire("hand-over, wire", HandOver),
      {"failover after kill -9", "ms", Failover, 0, 3, false},
      {"a held lock, with beats", "requests/s", Holding, 0, 1, true, false},
      Idle(/*again=*/false, "first acquire, after 12 s"),
      Idle(/*again=*/true, "next acquire, after 12 s"),
      Waiting(1000, "1,000 waiters on one lock", 3, true),
      Waiting(10'000, "10,000 waiters on one lock", 1, false),
  };
  return runs;
}

}  // namespace bench
