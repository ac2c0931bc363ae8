// SPDX-License-Identifier: Apache-2.0
//
// Very many locks on one ensemble: held over thousands of sessions of a few processes, and a server
// dies. Fails if one lease is lost, or if not all are held again.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/counts.h"
#include "bench/or_end.h"
#include "bench/peer.h"
#include "zkrecipes/event_loop.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr absl::Duration kSessionTimeout = absl::Seconds(30);
// Of one process: proofs of its leases queue at the servers behind what is asked for at the same
// time.
constexpr int kAtOnce = 200;
constexpr double kPatience = 300, kNoticed = 5;  // seconds

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ---- one process --------------------------------------------------------------------------------

// Clients that share a loop, each with its own session, and their leases.
class Holders {
 public:
  std::map<std::string, double> Hold(const nlohmann::json& task) {
    const int sessions = task.at("sessions"), locks = task.at("locks");
    leases_.resize(static_cast<size_t>(sessions) * locks);
    for (int i = 0; i < sessions; ++i) {
      clients_.push_back(OrEnd(zkrecipes::Client::Connect(
          {.servers = task.at("servers"), .session_timeout = kSessionTimeout, .loop = loop_},
          {absl::Minutes(2)})));
    }
    const Counts before = Counts::Now();
    const double heap = Allocated();
    path_ = task.at("path");
    for (int i = 0; i < kAtOnce; ++i) AcquireNext();
    while (granted_ < static_cast<int>(leases_.size())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const auto each = static_cast<double>(leases_.size());
    return {{"cpu us", (Counts::Now() - before).cpu_us / each},
            {"bytes", (Allocated() - heap) / each}};
  }
  std::map<std::string, double> Look() const {
    int held = 0, lost = 0;
    for (const auto& lease : leases_) {
      held += lease->state() == zkrecipes::Lease::State::kHeld ? 1 : 0;
      lost += lease->end_reason().has_value() ? 1 : 0;
    }
    return {{"held", held}, {"lost", lost}, {"cpu s", Counts::Now().cpu_us / 1e6}};
  }

 private:
  void AcquireNext() {
    const size_t i = next_++;
    if (i >= leases_.size()) return;
    const zkrecipes::Lock lock(clients_[i % clients_.size()], absl::StrCat(path_, "/", i));
    lock.AcquireAsync({}, [this, i](absl::StatusOr<zkrecipes::Lease> lease) {
      leases_[i] = std::make_unique<zkrecipes::Lease>(OrEnd(std::move(lease)));
      ++granted_;
      AcquireNext();
    });
  }

  const std::shared_ptr<zkrecipes::EventLoop> loop_ = OrEnd(zkrecipes::EventLoop::Start());
  std::vector<std::shared_ptr<zkrecipes::Client>> clients_;
  std::vector<std::unique_ptr<zkrecipes::Lease>> leases_;
  std::string path_;
  std::atomic<size_t> next_ = 0;
  std::atomic<int> granted_ = 0;
};

int ServeHolders() {
  Holders holders;
  std::cout << "{}" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const nlohmann::json task = nlohmann::json::parse(line);
    std::cout << nlohmann::json(task.at("run") == "hold" ? holders.Hold(task) : holders.Look())
              << std::endl;
  }
  std::_Exit(0);  // the sessions end by themselves
}

// ---- all of them --------------------------------------------------------------------------------

using Answers = std::map<std::string, double>;

// Asks all at once, and adds up.
class Fleet {
 public:
  explicit Fleet(int processes) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    for (int i = 0; i < processes; ++i) peers_.push_back(std::make_unique<Peer>(self + " --serve"));
  }
  Answers Ask(const std::function<nlohmann::json(int)>& task) {
    std::vector<Answers> answers(peers_.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < peers_.size(); ++i) {
      threads.emplace_back(
          [&, i] { answers[i] = peers_[i]->Ask(task(static_cast<int>(i)).dump()); });
    }
    for (std::thread& thread : threads) thread.join();
    Answers sum;
    for (const Answers& each : answers) {
      for (const auto& [what, value] : each) sum[what] += value;
    }
    return sum;
  }
  Answers Look() {
    return Ask([](int) { return nlohmann::json{{"run", "look"}}; });
  }
  int size() const { return static_cast<int>(peers_.size()); }

 private:
  std::vector<std::unique_ptr<Peer>> peers_;
};

// Requests and pings that came in, by server; a server that does not answer, or has begun anew, has
// none yet.
std::vector<int64_t> Packets(zkrecipes::testing::LocalEnsemble& ensemble) {
  std::vector<int64_t> packets(static_cast<size_t>(ensemble.size()));
  for (int i = 0; i < ensemble.size(); ++i) {
    const auto answer = ensemble.FourLetterWord(i, "mntr");
    if (!answer.ok()) continue;
    for (const absl::string_view line : absl::StrSplit(*answer, '\n')) {
      const std::vector<std::string> parts = absl::StrSplit(line, '\t');
      if (parts[0] == "zk_packets_received") packets[i] = std::atoll(parts[1].c_str());
    }
  }
  return packets;
}

int64_t Came(const std::vector<int64_t>& before, const std::vector<int64_t>& now) {
  int64_t all = 0;
  for (size_t i = 0; i < now.size(); ++i) all += now[i] - (now[i] < before[i] ? 0 : before[i]);
  return all;
}

struct Options {
  int locks = 100'000, sessions = 2'000, processes = 4;
  bool serve = false;
};

// A server dies: no lease is lost, and all that were cut off are held again.
bool Survives(int server, int all, Fleet& fleet, zkrecipes::testing::LocalEnsemble& ensemble) {
  const double cpu = fleet.Look().at("cpu s");
  const std::vector<int64_t> packets = Packets(ensemble);
  if (!ensemble.Kill(server).ok()) return false;
  const auto killed = Clock::now();
  Answers now;
  double least = all, back = 0;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    now = fleet.Look();
    least = std::min(least, now.at("held"));
    if (now.at("held") < all) back = SecondsSince(killed);
    // Until all are held, some time after the death, which takes a moment to be noticed.
  } while (now.at("lost") == 0 && SecondsSince(killed) < kPatience &&
           (now.at("held") < all || SecondsSince(killed) < back + kNoticed));
  if (!ensemble.Restart(server).ok() || !ensemble.WaitForAll(absl::Minutes(2)).ok()) return false;
  std::printf(
      "server %d killed: %.0f leases were not proven for a while; held again %.0f, lost %.0f, "
      "after %.1f s; "
      "%.1f s of processor, and %lld packets until it was back\n",
      server, all - least, now.at("held"), now.at("lost"), back, now.at("cpu s") - cpu,
      static_cast<long long>(Came(packets, Packets(ensemble))));
  return now.at("lost") == 0 && now.at("held") == all;
}

int Measure(const Options& options, zkrecipes::testing::LocalEnsemble& ensemble) {
  Fleet fleet(options.processes);
  const std::vector<int64_t> packets = Packets(ensemble);
  const auto begin = Clock::now();
  const int sessions = options.sessions / fleet.size();
  const int locks = options.locks / (sessions * fleet.size());
  const Answers held = fleet.Ask([&](int i) {
    return nlohmann::json{{"run", "hold"},
                          {"servers", ensemble.servers()},
                          {"sessions", sessions},
                          {"locks", locks},
                          {"path", absl::StrCat("/fleet/", i)}};
  });
  const int all = sessions * locks * fleet.size();
  std::printf(
      "%d locks held over %d sessions of %d processes after %.1f s; each: %.1f packets, %.0f us of "
      "processor and %.0f bytes\n",
      all, sessions * fleet.size(), fleet.size(), SecondsSince(begin),
      static_cast<double>(Came(packets, Packets(ensemble))) / all, held.at("cpu us") / fleet.size(),
      held.at("bytes") / fleet.size());
  int failed = 0;
  for (int server = 0; server < ensemble.size(); ++server)
    failed += !Survives(server, all, fleet, ensemble);
  return failed == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Holds very many locks, and kills the servers one after the other");
  app.add_option("--locks", options.locks, "in all")->check(CLI::PositiveNumber);
  app.add_option("--sessions", options.sessions, "in all")->check(CLI::PositiveNumber);
  app.add_option("--processes", options.processes, "that share them")->check(CLI::PositiveNumber);
  app.add_flag("--serve", options.serve, "be one of the processes")->group("");
  CLI11_PARSE(app, argc, argv);
  if (options.serve) return ServeHolders();
  const auto ensemble = zkrecipes::testing::LocalEnsemble::Start({.max_heap_megabytes = 1024});
  if (!ensemble.ok()) return std::cerr << ensemble.status() << "\n", 1;
  return Measure(options, **ensemble);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) { return bench::Main(argc, argv); }
