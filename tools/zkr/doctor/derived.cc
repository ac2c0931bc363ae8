// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/derived.h"

#include <algorithm>

#include "lib/queue/machine/node_name.h"
#include "tools/zkr/commands/client.h"
#include "zkrecipes/lease_options.h"

namespace zkrecipes::zkr::doctor {
namespace {

// Unknown is no value: it neither counts as 0 nor hides what other servers say.
template <typename T>
void KeepMost(std::optional<T>& most, const std::optional<T>& next) {
  if (next.has_value()) most = most.has_value() ? std::max(*most, *next) : *next;
}

Grants Least(const Grants& a, const Grants& b) {
  return {std::min(a.asked, b.asked), std::min(a.least, b.least), std::min(a.longest, b.longest)};
}

constexpr absl::Duration kLeastSpan = absl::Minutes(1);
constexpr std::int64_t kMostDays = 3650;

struct Made {
  std::int64_t at_ms = 0;
  std::int64_t number = 0;
  friend auto operator<=>(const Made&, const Made&) = default;
};

}  // namespace

Timeouts TimeoutsIn(const Facts& facts) {
  Timeouts t{.asked = facts.asked};
  for (const ServerFacts& server : facts.servers) {
    // A client may land on any server, so the least that is granted is what it can rely on.
    if (server.grants) t.grants = t.grants ? Least(*t.grants, *server.grants) : *server.grants;
    // Where servers differ, which is a finding of its own, the slowest one counts.
    KeepMost(t.tick, server.words.tick);
    KeepMost(t.sync_limit, server.words.sync_limit);
  }
  t.alone = std::ranges::all_of(
      facts.servers, [](const ServerFacts& server) { return server.words.mode == "standalone"; });
  // conf is closed by default since 3.5.3, so this is the common case.
  if (!t.tick && t.grants) {
    t.tick = t.grants->least / 2;
    t.tick_is_inferred = true;
    t.twenty_ticks_agree = t.grants->longest == 10 * t.grants->least;
  }
  if (t.tick && t.sync_limit) t.silence = *t.sync_limit * *t.tick;
  return t;
}

LeaseLeft LeaseLeftOf(absl::Duration session_timeout) {
  const LeaseOptions options;
  const double rate = 1 + options.clock_rate_bound;
  // The time between two proofs; docs/lease.md derives these numbers.
  const absl::Duration gap = session_timeout / 4 + absl::Milliseconds(100);
  const absl::Duration reserve = std::max(session_timeout / 7, absl::Milliseconds(600));
  const absl::Duration most =
      session_timeout / rate - rate * gap - session_timeout / 20 - options.slack;
  // Where the reserve is out of reach there is a proof in every fifth of the timeout.
  const absl::Duration least =
      most - reserve < session_timeout / 5 ? most - session_timeout / 5 : reserve * 3 / 4;
  const auto whole = [](absl::Duration d) {
    return std::max(absl::ZeroDuration(), absl::Trunc(d, absl::Milliseconds(1)));
  };
  return {whole(most), whole(std::min(least, reserve * 3 / 4))};
}

std::string Short(absl::Duration duration) {
  const absl::Duration unit =
      duration < absl::Seconds(1) ? absl::Milliseconds(1) : absl::Milliseconds(100);
  return absl::FormatDuration(absl::Trunc(duration, unit));
}

std::optional<std::int64_t> DaysLeft(const PathFacts& path, absl::Time now) {
  // The path may not be read, or its age is not known.
  if (!path.node.stat || path.node.stat->ctime_ms <= 0) return std::nullopt;
  const commands::Numbers numbers = commands::NumbersOf(*path.node.stat);
  Made first{path.node.stat->ctime_ms, 0};
  Made last{absl::ToUnixMillis(now), numbers.used};
  std::vector<Made> made;
  for (const NodeFacts& node : path.queue) {
    if (node.stat)
      made.push_back({node.stat->ctime_ms, queue::machine::ParseNodeName(node.name)->sequence});
  }
  if (!made.empty()) {
    const auto [oldest, newest] = std::ranges::minmax(made);
    // Over less than a minute the rate says nothing of the next days.
    const bool enough = absl::Milliseconds(newest.at_ms - oldest.at_ms) >= kLeastSpan;
    if (enough) first = oldest;
    if (enough) last = newest;
  }
  const absl::Duration span = absl::Milliseconds(last.at_ms - first.at_ms);
  // Between two contenders that queue now: the recent rate, and not the mean of years.
  const std::int64_t used = last.number - first.number;
  if (span < kLeastSpan || used <= 0) return std::nullopt;
  const double days = absl::FDivDuration(span, absl::Hours(24)) *
                      static_cast<double>(numbers.left()) / static_cast<double>(used);
  // Far beyond the life of any ensemble: no number is more honest than a large one.
  if (days >= kMostDays) return std::nullopt;
  return static_cast<std::int64_t>(days);
}

Life LifeOf(const Facts& facts, std::int64_t session) {
  using enum Life::State;
  // No session: a persistent node.
  if (session == 0) return {.state = kNoSession};
  Life life{.state = kCutOff};
  for (const ServerFacts& server : facts.servers) {
    // The session may be connected to the one server that does not tell.
    if (!server.connections) life.state = kUnknown;
    if (!server.connections || !server.connections->contains(session)) continue;
    const ConnectionFacts& connection = server.connections->at(session);
    // One that has moved on may still be shown by the server that it left.
    if (life.connection && life.connection->silent <= connection.silent) continue;
    life.connection = connection;
    life.server = server.name;
  }
  // Clients ask something every third of their timeout at the least, so half of it is a sign.
  if (life.connection) {
    life.state = life.connection->silent * 2 < life.connection->timeout ? kAlive : kSilent;
  }
  return life;
}

const char* Word(Life::State state) {
  using enum Life::State;
  switch (state) {
    case kAlive:
      return "alive";
    case kSilent:
      return "silent";
    case kCutOff:
      return "cut-off";
    case kUnknown:
      return "unknown";
    case kNoSession:
      return "no-session";
  }
  return "unknown";
}

// A process that is stopped keeps its session only until the timeout; the others say little by
// themselves.
const char* ProcessWord(char state) {
  switch (state) {
    case 'R':
    case 'S':
    case 'I':
      return "runs";
    case 'D':
      return "waits for a disk or the kernel";
    case 'T':
    case 't':
      return "is stopped";
    case 'Z':
    case 'X':
      return "is dead";
    default:
      return "is in an unknown state";
  }
}

Queue QueueIn(const Facts& facts) {
  Queue queue;
  for (const ContenderInfo& c : facts.contenders) {
    (c.holds ? queue.holders : queue.waiters).push_back(c);
  }
  return queue;
}

const ThisMachine::Process* ProcessOf(const Facts& facts, const OwnerInfo& owner) {
  const auto found = facts.machine.processes.find(owner.pid);
  const bool here = found != facts.machine.processes.end() && owner.host == facts.machine.host;
  return here ? &found->second : nullptr;
}

std::optional<std::int64_t> HighestZxid(const Facts& facts) {
  std::optional<std::int64_t> highest;  // nothing is less than any number
  for (const ServerFacts& server : facts.servers) {
    // A server outside the quorum may show an old zxid, or one of another ensemble.
    if (server.grants) highest = std::max(highest, server.words.zxid);
  }
  return highest;
}

}  // namespace zkrecipes::zkr::doctor
