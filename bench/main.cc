// SPDX-License-Identifier: Apache-2.0
//
// Measures the library beside a bare program with the same requests, on the same servers in the
// same run: one round is every run of every entrant, and ratios are taken within a round.

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <zookeeper/zookeeper.h>

#include "bench/floor_session.h"
#include "bench/proxy.h"
#include "bench/runs.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace bench {
namespace {

struct Options {
  int rounds = 5;
  double minutes = 20;
  double scale = 1;
  bool quick = false;
  std::string only, entrant, servers, json, serve, commits, redis, postgres;
  std::vector<std::string> peers;  // "kazoo=python3 kazoo.py"
};

// ---- the table ----------------------------------------------------------------------------------

// A number each round: of a unit; of an entrant; of a run.
using Figures = std::map<std::string, std::vector<double>>;
using OfEntrants = std::map<std::string, Figures>;
using All = std::map<std::string, OfEntrants>;

void PrintRow(const std::string& run, const std::string& unit, const std::string& entrant,
              const std::vector<double>& values, const std::vector<double>& floor) {
  std::printf("| %-29s | %-26s | %-8s | %10.*f |", run.c_str(), unit.c_str(), entrant.c_str(),
              Median(values) < 1 ? 3 : 1, Median(values));
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(values.size(), floor.size()); ++i) {
    if (floor[i] != 0) ratios.push_back(values[i] / floor[i]);
  }
  if (ratios.empty()) return std::puts("       |              |"), void();
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf(" %5.2f | %.2f to %.2f |\n", Median(ratios), *least, *most);
}

void Note(const Run& run, const Sample& sample, Figures& figures) {
  if (sample.value) figures[run.unit].push_back(*sample.value);
  for (const auto& [unit, value] : sample.each) figures[unit].push_back(value);
}

// To standard output, a row an entrant, run and unit: the medians, and the ratio to the floor's
// figure of the same round, of which the median and the extremes.
void PrintTable(const All& all) {
  std::puts("| run | unit | entrant | median | of the floor's | rounds |");
  std::puts("| --- | --- | --- | --- | --- | --- |");
  for (const Run& run : Runs()) {
    if (!all.contains(run.name)) continue;
    for (const auto& [entrant, figures] : all.at(run.name)) {
      for (const auto& [unit, values] : figures) {
        const OfEntrants& others = all.at(run.name);
        const bool compared = others.contains("floor") && others.at("floor").contains(unit);
        PrintRow(run.name, unit, entrant, values,
                 compared ? others.at("floor").at(unit) : std::vector<double>{});
      }
    }
  }
}

// ---- the measurement ----------------------------------------------------------------------------

std::string Self() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// The first is what the others are compared with.
std::vector<Entrant> OwnEntrants() {
  const std::string serve = Self() + " --serve ";
  return {{"floor", ConnectFloor, GatherFloor, serve + "floor"},
          {"ours", ConnectOurs, GatherOurs, serve + "ours"},
          {.name = "kept", .connect = ConnectKept}};
}

// "log" and "metrics" only when they are named: for scripts/check_cost.py.
std::vector<Entrant> Entrants(const Options& options) {
  std::vector<Entrant> all = OwnEntrants();
  if (options.entrant == "log") all.push_back({.name = "log", .connect = ConnectLogged});
#ifdef ZKRECIPES_WITH_PROMETHEUS
  if (options.entrant == "metrics") all.push_back({.name = "metrics", .connect = ConnectMetered});
#endif
#ifdef ZKRECIPES_WITH_REDIS
  if (!options.redis.empty())
    all.push_back({.name = "redis", .connect = ConnectRedis, .servers = options.redis});
#endif
#ifdef ZKRECIPES_WITH_POSTGRES
  if (!options.postgres.empty())
    all.push_back({.name = "postgres", .connect = ConnectPostgres, .servers = options.postgres});
#endif
  for (const std::string& peer : options.peers) {
    const size_t equals = peer.find('=');
    const std::string name = peer.substr(0, equals), command = peer.substr(equals + 1);
    if (!options.entrant.empty() && options.entrant != name) continue;
    all.push_back(
        {.name = name, .guest = command + " guest", .peer = std::make_shared<Peer>(command)});
  }
  std::erase_if(all, [&](const Entrant& entrant) {
    return !options.entrant.empty() && options.entrant != entrant.name;
  });
  return all;
}

bool Wanted(const Run& run, const Entrant& entrant, const Options& options, int round) {
  const bool elsewhere = entrant.connect == ConnectKept || !entrant.servers.empty();
  if (elsewhere && !run.kept) return false;
  return run.name.find(options.only) != std::string::npos && (run.peers || !entrant.peer) &&
         (run.quick || !options.quick) && round < run.most_rounds;
}

Sample Measure(const Run& run, const Entrant& entrant, Track track) {
  if (!entrant.servers.empty()) track.servers = entrant.servers;
  if (!entrant.is_zookeepers()) track.servers = entrant.peer->servers();
  if (run.round_trip_ms == 0) return run.sample(entrant, track);
  Proxy far(track.servers, absl::Milliseconds(run.round_trip_ms) / 2);
  track.servers = far.servers();
  track.round_trip_ms = run.round_trip_ms;
  Sample sample = run.sample(entrant, track);
  sample.each.clear();  // the proxy is in this process
  return sample;
}

bool Write(const std::string& path, const All& all) {
  if (path.empty()) return true;
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (file == nullptr) return std::perror(path.c_str()), false;
  return std::fputs(nlohmann::json(all).dump(1).c_str(), file.get()) >= 0;
}

int MeasureAll(const Options& options, const std::string& servers) {
  const std::vector<Entrant> entrants = Entrants(options);
  const Peer commits(Self() + " --commits " + servers);  // not in this process, which is counted
  All all;
  int samples = 0;
  const int rounds = options.quick ? 1 : options.rounds;
  Clock::duration all_took = {}, last_took = {};
  for (int round = 0; round < rounds; ++round) {
    if (all_took + last_took > std::chrono::duration<double, std::ratio<60>>(options.minutes))
      break;
    const auto begin = Clock::now();
    for (const Run& run : Runs()) {
      for (const Entrant& entrant : entrants) {
        if (!Wanted(run, entrant, options, round)) continue;
        const Track track = {.servers = servers,
                             .path = "/bench-" + std::to_string(++samples),
                             .scale = options.scale * (options.quick ? 0.2 : 1),
                             .round = round};
        Note(run, Measure(run, entrant, track), all[run.name][entrant.name]);
      }
    }
    if (!Write(options.json, all)) return 1;  // each round: what fails ends the program
    last_took = Clock::now() - begin;
    all_took += last_took;
    std::fprintf(stderr, "round %d of %d: %.0f s\n", round + 1, rounds,
                 std::chrono::duration<double>(last_took).count());
  }
  if (samples == 0) return std::fprintf(stderr, "no run is called that\n"), 1;
  PrintTable(all);
  return 0;
}

// ---- processes of this program that serve it as peers do ----------------------------------------

// Answers tasks on standard input until it ends. Knows "hold" only: what it takes to be killed.
int Serve(const Entrant& entrant) {
  std::unique_ptr<Contestant> holder;
  std::cout << "{}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const nlohmann::json task = nlohmann::json::parse(line);
    if (task.at("run") != "hold") return std::fprintf(stderr, "cannot %s\n", line.c_str()), 1;
    holder = entrant.connect({task.at("servers"), task.at("path"), task.at("session_ms")});
    holder->Acquire(Mode::kExclusive);
    std::cout << R"({"value": 0})" << std::endl;
  }
  return 0;
}

constexpr char kNode[] = "/bench-commits";
constexpr itimerspec kPace = {{0, 50'000'000}, {0, 50'000'000}};

// Its own answers are not waited for: they may be the ones that are kept back.
void Ignore(int, const Stat*, const void*) {}

bool StandardInputEnds() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) != 0;
}

// Has no tasks: writes twenty times a second until standard input ends. A member of an ensemble of
// 3.8.0 may keep an answer back until anything else is committed (ZOOKEEPER-4537), and the session
// of a single client may end before that.
int KeepCommitting(const std::string& servers) {
  FloorSession session(servers, 40'000);
  session.Create(kNode);
  std::cout << "{}" << std::endl;
  const int ticks = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  timerfd_settime(ticks, 0, &kPace, nullptr);
  while (!StandardInputEnds()) {
    session.Turn(ticks);
    uint64_t passed;
    if (read(ticks, &passed, sizeof(passed)) < 0) continue;
    FloorOrEnd(zoo_aset(session.handle(), kNode, "", 0, -1, Ignore, nullptr), "set");
  }
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the library beside a bare program with the same requests");
  app.add_option("--rounds", options.rounds, "how often everything is measured")
      ->check(CLI::PositiveNumber);
  app.add_option("--minutes", options.minutes, "no round begins that would probably end later");
  app.add_option("--scale", options.scale, "how long a measurement takes")
      ->check(CLI::PositiveNumber);
  app.add_flag("--quick", options.quick, "one short round, without the runs that take long");
  app.add_option("--only", options.only, "the runs whose name contains this");
  app.add_option("--entrant", options.entrant, "only this one");
  app.add_option("--peer", options.peers, "NAME=COMMAND of one more entrant: bench/peer.h");
  app.add_option("--servers", options.servers, "an ensemble, instead of three servers of its own");
  app.add_option("--redis", options.redis, "the socket of a Redis, to measure its locks as well");
  app.add_option("--postgres", options.postgres, "a PostgreSQL's connection string, for its own");
  app.add_option("--json", options.json, "a file for every figure");
  app.add_option("--serve", options.serve, "be a peer: FLOOR or OURS")->group("");
  app.add_option("--commits", options.commits, "SERVERS on which to commit")->group("");
  CLI11_PARSE(app, argc, argv);
  for (const Entrant& entrant : OwnEntrants()) {
    if (entrant.name == options.serve) return Serve(entrant);
  }
  if (!options.commits.empty()) return KeepCommitting(options.commits);
  if (!options.servers.empty()) return MeasureAll(options, options.servers);
  const auto ensemble = zkrecipes::testing::LocalEnsemble::Start(
      // The bare client's parents stay, too: ours are containers, which servers clear away once
      // empty.
      {.max_session_timeout = absl::Hours(1),
       .container_check_interval = absl::Hours(1),
       .max_heap_megabytes = 256});
  if (!ensemble.ok()) return std::cerr << ensemble.status() << "\n", 1;
  return MeasureAll(options, (*ensemble)->servers());
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
