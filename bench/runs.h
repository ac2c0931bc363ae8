// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_RUNS_H_
#define ZKRECIPES_BENCH_RUNS_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include <nlohmann/json.hpp>

#include "bench/contestant.h"
#include "bench/peer.h"

namespace bench {

// A library under measurement: in this process, or in a peer, a process that this one speaks with.
struct Entrant {
  std::string name;
  std::unique_ptr<Contestant> (*connect)(const Place&) = nullptr;
  std::unique_ptr<Crowd> (*gather)(const Place&, std::shared_ptr<Turns>) = nullptr;
  std::string guest = {};  // the command of another process, which serves as a peer does
  std::shared_ptr<Peer> peer = nullptr;
  std::string servers = {};  // of its own; empty: the peer's, or ZooKeeper's

  bool is_zookeepers() const { return peer == nullptr || peer->servers().empty(); }
};

using Clock = std::chrono::steady_clock;
inline double Micros(Clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Sample {
  std::optional<double> value;         // in the run's unit; none: the entrant cannot do it
  std::map<std::string, double> each;  // what an operation used: "cpu us", "switches", "bytes"
};

struct Track {
  std::string servers;
  std::string path;  // of its own: every sample gets an empty one
  double scale = 1;  // of how long or how often
  int round_trip_ms = 0;
  int round = 0;

  // That of the client with this number: the leader answers sooner than a follower, so every
  // entrant's clients are at the same servers, at others in the next round. The server that a
  // client would choose itself made up to a fifth of a cycle's ratio to the floor.
  std::string ServerOf(int client) const {
    const std::vector<std::string> all = absl::StrSplit(servers, ',');
    return all[(round + client) % all.size()];
  }
};

// A peer's task, and what it measured, each per operation.
inline nlohmann::json Task(const char* run, const Track& track, nlohmann::json more) {
  more.update({{"run", run}, {"servers", track.servers}, {"path", track.path}});
  return more;
}

inline Sample Asked(Peer& peer, const nlohmann::json& task) {
  Sample sample{.value = {}, .each = peer.Ask(task.dump())};
  if (auto value = sample.each.extract("value")) sample.value = value.mapped();
  return sample;
}

struct Run {
  std::string name;
  std::string unit;
  std::function<Sample(const Entrant&, const Track&)> sample;
  int round_trip_ms = 0;  // to the servers, beside what they take
  int most_rounds = 1000;
  bool quick = true;  // `--quick` has it, too
  bool peers = true;  // can do it
  bool kept = false;  // it is also of locks that stay where they are used, and of those elsewhere
};

const std::vector<Run>& Runs();

// ---- what runs do -------------------------------------------------------------------------------

// One client, which waits for nobody: the median of a cycle in microseconds.
Sample Cycle(const Entrant& entrant, const Track& track, int cycles);
// From the call that releases to the waiter's return: the median in microseconds.
Sample HandOver(const Entrant& entrant, const Track& track, int turns);
// Cycles a second of so many clients in all, spread over the locks. With `readers`, nine of ten
// acquires are shared. Clients of one of the `processes` may share what they have.
Sample Cycles(const Entrant& entrant, const Track& track, int clients, int locks, bool readers,
              int processes = 1 << 30);
// Bytes that a turn of `sample` sends and receives, and how many requests that is.
Sample Wire(Sample (*sample)(const Entrant&, const Track&, int turns), const Entrant& entrant,
            const Track& track);
// An acquire of a client that has been idle for 12 s since it connected or, if `again`, since it
// released its lock: the median of eight clients in milliseconds. A session of 10 s.
Sample AfterIdleness(const Entrant& entrant, const Track& track, bool again);
// From the SIGKILL of a holder's process to the next grant, in milliseconds.
Sample Failover(const Entrant& entrant, const Track& track);
constexpr int kFailoverSessionMs = 4000;
// Requests a second, but pings, of a client that holds a lock and does nothing.
Sample Holding(const Entrant& entrant, const Track& track);
// Hand-offs a second while so many wait, in 100 sessions.
Sample Crowded(const Entrant& entrant, const Track& track, int waiters);

// One thread takes the same lock again and again: microseconds a cycle.
Sample Again(const Entrant& entrant, const Track& track, int times);
// Two processes take turns: the median of a cycle in microseconds.
Sample Alternating(const Entrant& entrant, const Track& track, int times);
// The acquire of a lock that another process has used and not uses now: the median in microseconds.
Sample Newcomer(const Entrant& entrant, const Track& track, int times);
// ... that eight threads of another process take all the time: milliseconds.
Sample NewcomerBeside(const Entrant& entrant, const Track& track, int times);

}  // namespace bench

#endif  // ZKRECIPES_BENCH_RUNS_H_
