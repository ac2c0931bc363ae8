// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/schedule.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"

#include "verification/explore/shrink.h"

namespace zkrecipes::schedules {
namespace {

using testing::memory::ServerTraits;

ServerTraits ServersFor(uint64_t seed) {
  switch (seed / kWeatherNames.size() % 5) {
    case 2:
      return ServerTraits::ZooKeeper39();
    case 3:
      return ServerTraits::ZooKeeper310();
    case 4:
      return {.throttled_of = 7, .shed_of = 31};
    default:
      return {};
  }
}

// Without what ends a lease by design: numbers that end, servers that refuse requests; and without
// lock delays, since a lease that rests on one needs a write in every half of that.
void BeEveryday(LockWorldOptions& options, int timeout) {
  constexpr absl::Duration kTimeouts[] = {absl::Seconds(4), absl::Seconds(10), absl::Seconds(30)};
  options.session_timeout = kTimeouts[timeout];
  options.lease.pace = LeaseOptions::Pace::kSteady;
  options.lock_delay = absl::ZeroDuration();
  options.next_sequence = 0;
  options.servers.throttled_of = options.servers.shed_of = 0;
}

// Partitions instead of what it would be about.
void BeShared(LockWorldOptions& options, int more) {
  options.partitions = 3 + more;
  options.slots = std::max(options.slots, 2);
  options.modes.clear();
  options.permits = 0;
  options.lock_delay = absl::ZeroDuration();
  options.election = options.writes = false;
  options.next_sequence = 0;
}

// The slots of a process share a lock that may stay there, perhaps beside an ordinary bid.
void BeKept(LockWorldOptions& options, int more) {
  options.keepers = 2 * options.processes;
  options.lease.wait_for_proof = true;
  options.slots = options.keepers + more;
  options.modes.clear();
  options.permits = 0;
  options.lock_delay = absl::ZeroDuration();
  options.election = false;
}

}  // namespace

LockWorldOptions OptionsFor(uint64_t seed, Weather weather, const LeaseOptions& lease) {
  std::mt19937_64 random(seed ^ 0x5eed);
  const auto below = [&random](uint64_t n) { return static_cast<int>(random() % n); };
  LockWorldOptions options;
  options.seed = seed;
  options.weather = weather;
  options.lease = lease;
  options.processes = 2 + below(2);
  options.slots = options.processes + below(2);
  const int kind = below(8);
  const bool readers = kind < 2 || kind == 5;  // and writers
  for (int i = 0; readers && i < options.slots; ++i) {
    const int mode = below(10);
    options.modes.push_back(mode < 6                ? queue::machine::Mode::kShared
                            : mode < 9 || kind == 5 ? queue::machine::Mode::kSharedWriter
                                                    : queue::machine::Mode::kExclusive);
  }
  if (kind == 7) {
    options.permits = 1 + below(3);
    ++options.slots;
    for (int i = 0; i < options.slots; ++i) {
      options.modes.push_back(below(8) == 0 ? queue::machine::Mode::kExclusive
                                            : queue::machine::Mode::kPermit);
    }
  }
  options.election = kind == 2 || kind == 3;
  const bool delayed = kind == 4 || kind == 5 || (kind == 3 && below(2) == 0);
  if (delayed) options.lock_delay = absl::Seconds(2 + 2 * below(2));
  // Where the sequence numbers end.
  if (below(50) == 0 && !options.election)
    options.next_sequence = std::numeric_limits<int32_t>::max() - below(3);
  // A third of all of them, whatever they are about, and without moving what the others are.
  options.writes = seed / kWeatherNames.size() % 3 == 1;
  options.misbehaves = seed / kWeatherNames.size() % 7 < 2 && weather != Weather::kEveryday;
  options.servers = ServersFor(seed);
  if (seed / kWeatherNames.size() % 2 == 1) options.lease.pace = LeaseOptions::Pace::kSparse;
  options.lease.wait_for_proof = seed / kWeatherNames.size() / 2 % 2 == 1;
  if (weather == Weather::kEveryday) BeEveryday(options, below(3));
  if (below(8) == 0) {
    BeShared(options, below(4));
  } else if (below(8) == 0) {
    BeKept(options, below(2));
  }
  return options;
}

Schedule Replay(const LockWorldOptions& options, const std::vector<Move>& moves) {
  LockWorld world(options);
  std::vector<Move> made;
  std::string story = absl::StrCat(options.processes, " processes, ", options.slots, " slots\n");
  std::string before;
  for (const Move& move : moves) {
    if (world.broken().has_value() || !world.Make(move)) continue;
    made.push_back(move);
    std::string after = world.Describe();
    absl::StrAppend(&story, "* ", Describe(move), "\n", after != before ? after + "\n" : "");
    before = std::move(after);
  }
  if (!world.broken().has_value()) {
    story += "* faults end, every slot gets a turn, every client closes\n";
    world.EndQuietly();
  }
  if (const auto& broken = world.broken()) {
    absl::StrAppend(&story, "! ", broken->rule, ": ", broken->what, "\n");
  }
  return {std::move(made), world.broken(), world.grants(), std::move(story)};
}

std::string TellShrunk(const LockWorldOptions& options, const Schedule& schedule) {
  const auto moves = explore::Shrink(
      schedule.moves, [&](const std::vector<Move>& fewer) -> std::optional<std::vector<Move>> {
        Schedule replayed = Replay(options, fewer);
        const bool same =
            replayed.broken.has_value() && replayed.broken->rule == schedule.broken->rule;
        return same ? std::optional(std::move(replayed.moves)) : std::nullopt;
      });
  return absl::StrCat(Replay(options, moves).story,
                      "to see it again:\n  zkrecipes-schedules --weather ",
                      kWeatherNames[static_cast<size_t>(options.weather)], " --seed ", options.seed,
                      " --replay '", ToString(moves), "'\n");
}

bool ParseWeather(const std::string& name, std::vector<Weather>& weathers) {
  if (name == "all") return true;
  const auto it = std::find(kWeatherNames.begin(), kWeatherNames.end(), name);
  weathers = {static_cast<Weather>(it - kWeatherNames.begin())};
  return it != kWeatherNames.end();
}

int Run(const Search& search) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  uint64_t done = 0;
  uint64_t moves = 0;
  uint64_t grants = 0;
  for (; done < search.schedules && seconds() < search.minutes * 60; ++done) {
    const uint64_t seed = search.seed + done;
    const Weather weather = search.weathers[seed % search.weathers.size()];
    const LockWorldOptions options = OptionsFor(seed, weather, search.lease);
    const Schedule schedule = RunRandom(options, search.length);
    moves += schedule.moves.size();
    grants += static_cast<uint64_t>(schedule.grants);
    if (!schedule.broken.has_value()) continue;
    const char* const name = kWeatherNames[static_cast<size_t>(weather)];
    if (search.find) {
      std::cout << "found in schedule " << done + 1 << ", " << name << ": " << schedule.broken->rule
                << "\n";
      return 0;
    }
    std::cout << "seed " << seed << ", " << name << ": " << schedule.broken->rule << ": "
              << schedule.broken->what << "\nshrinking " << schedule.moves.size() << " moves\n"
              << TellShrunk(options, schedule);
    return 1;
  }
  std::cout << done << " schedules, " << moves << " moves, " << grants << " grants in " << seconds()
            << " s: " << static_cast<double>(done) / seconds() << " schedules a second\n";
  return search.find ? 1 : 0;
}

}  // namespace zkrecipes::schedules
