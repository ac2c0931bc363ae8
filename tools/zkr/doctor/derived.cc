// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/derived.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "lib/queue/machine/permits.h"
#include "lib/session/client/client_options.h"
#include "lib/session/machine/beat_pace.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {

Timeouts TimeoutsIn(const Facts& facts) {
  Timeouts t;
  for (const ServerFacts& server : facts.servers) {
    // A client may land on any server, so the least that is granted is what it can rely on.
    if (server.granted) t.granted = std::min(t.granted.value_or(*server.granted), *server.granted);
    // Where servers differ the slowest one counts. nullopt is less than any number.
    t.tick = std::max(t.tick, server.words.tick);
    t.sync_limit = std::max(t.sync_limit, server.words.sync_limit);
  }
  t.alone = std::ranges::all_of(
      facts.servers, [](const ServerFacts& server) { return server.words.mode == "standalone"; });
  if (t.tick && t.sync_limit) t.silence = *t.sync_limit * *t.tick;
  return t;
}

LeaseLeft LeaseLeftOf(absl::Duration session_timeout, LeaseOptions::Pace pace) {
  using session::machine::BeatPace;
  const session::machine::ExpiryMargins margins = session::client::MarginsOf(LeaseOptions());
  if (!margins.CanProve(session_timeout)) return {};
  BeatPace beats(session::client::KindOf(pace));
  beats.OnConnected(session_timeout, margins.Lifetime(session_timeout),
                    margins.LongestGap(session_timeout));
  (void)beats.SetNeed({.proof = true, .lease = true}, base::BootTime());
  const absl::Duration most = margins.LeftOfAProof(session_timeout);
  // Where the reserve is out of reach pairs of beats are as close as they may be.
  const absl::Duration least = std::min(beats.Least(), most - beats.PairsApart());
  // On the average a pair is half of the spread early, and its touches are a little younger.
  const absl::Duration apart =
      std::max(most - least - session_timeout / 120, beats.PairsApart() * 0.9);
  const auto whole = [](absl::Duration d) {
    return std::max(absl::ZeroDuration(), absl::Trunc(d, absl::Milliseconds(1)));
  };
  return {whole(most), whole(least), absl::FDivDuration(absl::Seconds(2), apart)};
}

std::string Short(absl::Duration duration) {
  const absl::Duration unit =
      duration < absl::Seconds(1) ? absl::Milliseconds(1) : absl::Milliseconds(100);
  return absl::FormatDuration(absl::Trunc(duration, unit));
}

namespace {

// Whether the list has all servers: a session may be connected to one that was not asked.
bool IsWhole(const Facts& facts) {
  std::optional<int> voters;      // the most that any server counts
  std::set<std::string> serving;  // by address: a server may be in the list twice
  for (const ServerFacts& server : facts.servers) {
    const bool alone = server.words.mode == "standalone";
    voters = std::max(voters, alone ? std::optional(1) : server.words.voters);
    if (server.granted && server.words.mode != "observer") serving.insert(server.address);
  }
  return voters && *voters <= std::ssize(serving);
}

}  // namespace

Life LifeOf(const Facts& facts, const ContenderInfo& contender) {
  using enum Life::State;
  // A node that this client may not read shows no session, though it may have one.
  if (!IsRead(contender)) return {};
  const std::int64_t session = contender.session;
  if (session == 0) return {.state = kNoSession};
  const bool whole = IsWhole(facts);
  Life life{.state = whole ? kCutOff : kUnknown};
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
    const bool alive = life.connection->silent * 2 < life.connection->timeout;
    life.state = alive ? kAlive : whole ? kSilent : kUnknown;
  }
  return life;
}

Queue QueueIn(const Facts& facts) {
  Queue queue;
  for (const ContenderInfo& c : facts.contenders) {
    if (IsMember(c) || MayHold(c)) continue;
    (c.holds ? queue.holders : queue.waiters).push_back(c);
  }
  return queue;
}

std::optional<int> PermitsOf(const Facts& facts) {
  if (!facts.path || std::ranges::none_of(facts.contenders, IsPermit)) return std::nullopt;
  const auto number = queue::machine::ParsePermits(facts.path->data);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

bool CanBeBroken(const Facts& facts, const ContenderInfo& contender) {
  return IsRead(contender) &&
         std::ranges::count(facts.contenders, contender.token, &ContenderInfo::token) == 1;
}

bool IsHere(const Facts& facts, const OwnerInfo& owner) {
  return owner.pid > 0 && owner.host == facts.machine.host;
}

Processes ProcessesOf(const Facts& facts, const OwnerInfo& owner) {
  const std::vector<supervisor::ProcessInfo>& all = facts.machine.processes;
  const auto found = std::ranges::find(all, owner.pid, &supervisor::ProcessInfo::pid);
  Processes of;
  if (!IsHere(facts, owner) || found == all.end()) return of;
  of.owner = &*found;
  // What CMD has left behind may be the runner's child, too, and perhaps has a group of its own.
  // CMD is the oldest, and so the first in /proc unless pids have wrapped.
  const pid_t runner = supervisor::RunnerOf(all, of.owner->pid);
  const auto command = std::ranges::find_if(all, [runner](const supervisor::ProcessInfo& process) {
    return process.parent == runner && process.group == process.pid;
  });
  if (command != all.end()) of.command = &*command;
  return of;
}

bool IsStopped(const supervisor::ProcessInfo* process) {
  return process != nullptr && (process->state == 'T' || process->state == 't');
}

const char* Word(Life::State state) {
  constexpr const char* kWords[] = {"alive", "silent", "cut-off", "unknown", "no-session"};
  return kWords[static_cast<int>(state)];
}

const char* Word(const supervisor::ProcessInfo& process) {
  if (IsStopped(&process)) return "is stopped";
  if (process.state == 'D') return "waits for a disk or the kernel";
  if (process.IsZombie()) return "is dead";
  return process.state == '?' ? "is in an unknown state" : "runs";
}

std::optional<std::int64_t> HighestZxid(const Facts& facts) {
  std::optional<std::int64_t> highest;  // nothing is less than any number
  for (const ServerFacts& server : facts.servers) {
    // A server outside the quorum may show an old zxid, or one of another ensemble.
    if (server.granted) highest = std::max(highest, server.words.zxid);
  }
  return highest;
}

std::optional<bool> WasSetBack(const Facts& facts) {
  if (!facts.epoch || !facts.seen) return std::nullopt;
  if (*facts.epoch > facts.seen->epoch) return false;
  // The record itself was restored: an epoch never goes down otherwise.
  if (*facts.epoch < facts.seen->epoch) return true;
  // Tokens are zxids: an ensemble that has not come to a token that was seen has forgotten it.
  const auto zxid = HighestZxid(facts);
  if (zxid && *zxid < facts.seen->token.value()) return true;
  return std::nullopt;
}

}  // namespace zkrecipes::zkr::doctor
