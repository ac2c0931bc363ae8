// SPDX-License-Identifier: Apache-2.0
//
// Faults of a LockWorld that moves.cc does not do itself, and the end.

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "lib/base/one_shot.h"
#include "verification/schedules/lock_world.h"

namespace zkrecipes::schedules {

using testing::memory::ConnectionId;
using testing::memory::Host;

// How long the members of a group remember one that is away (docs/partitions.md).
constexpr absl::Duration kRemembered = absl::Minutes(10);
// docs/lease.md assumes this for the sessions of a LockWorld, but for those with a lock delay.
constexpr absl::Duration kLongestPingGap = absl::Milliseconds(1100);

void LockWorld::SetPingGap(absl::Duration gap) {
  model().SetPingGap(starves() ? gap : std::min(gap, kLongestPingGap), now());
}

template <typename F>
void LockWorld::WhilePaused(uint32_t process, F what_others_do) {
  const bool was_paused = host(process).paused();
  host(process).set_paused(true);
  what_others_do();
  // It may have died meanwhile, in a callback that had been handed out before.
  host(process).set_paused(was_paused || processes_[process].died);
}

// The ensemble expires no session that it hears of, so the client stands still for that long first.
// (Leases with a lock delay do not rely on it.)
void LockWorld::Expire(uint32_t process) {
  const internal::ClientCore& core = *processes_[process].core;
  if (!starves()) WhilePaused(process, [&] { RunUntil(now() + core.session_timeout()); });
  (void)model().Expire(core.session_id(), now());
}

// Requests under way are answered; but its server's list of touches does not arrive any more.
void LockWorld::Forget(uint32_t process) {
  const int server = *ServerOf(process);
  simulation_.RunUntilIdle();
  model().Stall(server, false, true, now());
  simulation_.RunUntilIdle();
  Expire(process);
}

// Of what can happen, only what the process and its server say to each other.
void LockWorld::TalkUntilIdle(uint32_t process) {
  for (bool more = true; more;) {
    const ConnectionId id = ConnectionOf(process);
    more = id != 0 && model().CanExecute(id);
    if (more) model().Finish(id, now());
    for (; host(process).CanDeliver(); more = true) host(process).Deliver();
    for (; host(process).CanRunTask(); more = true) host(process).RunTask();
  }
}

// The leader has found the session's time to be over, and ends it a moment later; in between it
// takes up whatever comes.
void LockWorld::ArriveTooLate(uint32_t process) {
  const int server = *ServerOf(process);
  const base::BootTime over = model().DeadlineOf(processes_[process].core->session_id());
  RunUntil(over + -absl::Nanoseconds(1));
  simulation_.SetTime(over);
  model().Stall(server, false, false, now());
  TalkUntilIdle(process);
  while (model().CanCloseDue()) model().CloseDue();
  // Committed before the client hears of it.
  WhilePaused(process, [this] { simulation_.RunUntilIdle(); });
}

void LockWorld::OperatorDeletes(uint32_t which) {
  const auto& [czxid, path] = *std::next(history_.nodes().begin(), which);
  if (!model().OperatorDeletes(path, now())) return;
  for (const auto& bid : Live()) {
    bid->deleted |= bid->core->session_id() == history_.OwnerOf(czxid);
  }
}

// ---- the end ------------------------------------------------------------------------------------

void LockWorld::EndQuietly() {
  if (broken_.has_value()) return;
  if (everyday()) AwaitQuiet();
  MendEverything();
  LetThrow([this] {
    shards_ != nullptr ? ShareInCalm() : LetEachHaveATurn();
    if (!broken_.has_value()) CheckNothingIsLeft();
    if (!broken_.has_value()) CloseEverything();
  });
  if (!broken_.has_value()) CheckCallbacks();
}

// Until what has begun has ended, and leases are proven again.
void LockWorld::AwaitQuiet() {
  while (everyday_->NextEnd() < base::BootTime::InfiniteFuture() && !broken_.has_value()) {
    RunUntil(everyday_->NextEnd());
  }
  RunUntil(now() + options_.session_timeout);
  everyday_->ReachAll();
}

void LockWorld::MendEverything() {
  model().RefuseNothing();
  model().set_loses_touches(false);
  model().SetPingGap(model().options().tick / 2, now());
  for (int i = 0; i < servers(); ++i) {
    model().Heal(i, now());
    model().Stall(i, false, false, now());
  }
  tenant_.Leave(now());
  for (Process& process : processes_) {
    if (process.died) continue;
    if (shards_ != nullptr) process.misdeed.reset();
    process.host->set_paused(false);
    process.host->set_network(Host::Network::kUp);
    process.host->set_only_server(std::nullopt);
    process.host->set_clock_rate(1.0);
  }
}

void LockWorld::LetEachHaveATurn() {
  const size_t enough = 2 * slots_.size() + 6;
  for (size_t round = 0; round < enough && !broken_.has_value(); ++round) {
    RunUntil(now() + options_.session_timeout / 2);
    CheckWatches();
    if (round > 0) CheckNodesAreWanted();
    // A word that was denied is made good by the next waiter's check, which is later. So is what a
    // stranger's node does that came in front of a holder: the holder is taken for a waiter.
    const bool disturbed = tenant_.has_denied() || history_.strangers();
    if (round > 0 && options_.permits > 0 && !disturbed) CheckNoPermitIsFree();
    if (round > 1 && elects()) election_->CheckObservers();
    for (auto& bid : slots_) {
      if (bid == nullptr || !bid->lease.has_value() || bid->next != nullptr) continue;
      CheckWasTold(*bid);
      bid->Release();
      bid = nullptr;
      if (options_.permits > 0) break;  // one by one: each release has to wake the next
    }
    if (std::ranges::count(slots_, nullptr) == std::ssize(slots_)) return;
  }
  Break("never answered", Describe());
}

// Work ends when it is asked to.
void LockWorld::EndAskedUntil(base::BootTime when) {
  while (now() < when && !broken_.has_value()) {
    RunUntil(std::min(when, now() + options_.session_timeout / 16));
    for (size_t i = 0; i < shards_->slots(); ++i) shards_->EndAsked(i);
  }
}

// Sessions of the dead have to expire, clients to connect, and pauses to end.
bool LockWorld::AwaitShares() {
  EndAskedUntil(now() + 2 * options_.session_timeout);
  const base::BootTime latest = now() + 2 * options_.session_timeout + absl::Seconds(30);
  while (shards_->WhyUnsettled().has_value() && now() < latest && !broken_.has_value()) {
    EndAskedUntil(now() + options_.session_timeout / 4);
  }
  if (const auto why = shards_->WhyUnsettled()) {
    Break("not shared once it is calm", absl::StrCat(*why, Describe()));
  }
  shards_->CheckWatchers();
  return !broken_.has_value();
}

// Nothing moves as long as nobody comes or goes; then one does, and only what must moves.
void LockWorld::ShareInCalm() {
  const auto is_member = [this](size_t slot) { return shards_->IsMember(slot); };
  EndAskedUntil(now() + options_.session_timeout);  // who was refused is told
  if (!is_member(0)) JoinOrLeave(0);
  if (!AwaitShares()) return;
  const Shards::Owners before = shards_->FindOwners();
  EndAskedUntil(now() + 2 * options_.session_timeout);
  if (shards_->FindOwners() != before) Break("moved in a calm", Describe());
  size_t changes = 1;
  while (is_member(changes) && changes + 1 < shards_->slots()) ++changes;
  JoinOrLeave(changes);
  if (!AwaitShares()) return;
  // Later the group forgets who is away, and more may move.
  if (now() < base::BootTime() + kRemembered) shards_->CheckKept(before);
  for (size_t i = 0; i < shards_->slots(); ++i) {
    if (is_member(i)) JoinOrLeave(i);
  }
  EndAskedUntil(now() + options_.session_timeout);
  shards_->CheckWatchers();
  shards_->StopWatching();
}

void LockWorld::CheckWasTold(const Bid& bid) {
  const Lease::State state = bid.lease->state();
  const bool over = state == Lease::State::kLost || state == Lease::State::kReleased;
  const bool there = history_.nodes().count(bid.node) > 0;
  if (!over && !there) Break("not told of a loss", "held without a node: " + bid.lease->node());
  if (over && bid.losses == 0) Break("not told of a loss", "lost: " + bid.lease->node());
}

// A contender watches only its own node and the one in front of it. A watch whose removal was lost
// with the connection may stay, so this holds only while each client has its first connection.
void LockWorld::CheckWatches() {
  if (troubled_ || model().connections_made() > processes_.size()) return;
  for (const auto& [session, path] : model().Watches()) {
    bool wanted = (elects() && election_->Observes(session)) || (keeps() && path == kLockPath);
    for (const auto& [czxid, node] : history_.nodes()) {
      wanted |=
          history_.OwnerOf(czxid) == session && (path == node || history_.MayWatch(czxid, path));
    }
    if (!wanted) Break("watch left behind", path);
  }
}

// A contender that has given up has no node any more.
void LockWorld::CheckNodesAreWanted() {
  for (const Process& process : processes_) {
    if (process.died) continue;  // its session has to expire
    const auto its = [&](const auto& node) {
      return history_.OwnerOf(node.first) == process.core->session_id();
    };
    const auto wanted = [&](const auto& bid) { return bid->core == process.core; };
    const auto& nodes = history_.nodes();
    const auto live = Live();
    const int kept = keeps() ? 1 : 0;
    if (std::count_if(nodes.begin(), nodes.end(), its) >
        std::count_if(live.begin(), live.end(), wanted) + kept) {
      Break("node left behind", Describe());
    }
  }
}

// Since nobody has taken it for long; or because another contender has come. He may keep it, too,
// until the last copy goes.
void LockWorld::LetKeptGo() {
  if (tires()) return RunUntil(now() + 2 * kKeptIdle);
  Begin(slots_.size() - 1, MoveKind::kAcquire);
  LetEachHaveATurn();
  for (Process& process : processes_) process.kept.reset();
}

// Longer than a session can outlive its client.
void LockWorld::CheckNothingIsLeft() {
  if (keeps()) LetKeptGo();
  RunUntil(now() + options_.session_timeout * 3 / 2);
  if (elects()) {
    election_->CheckObservers();
    election_->CheckProclamations();
    election_->StopObserving();
    RunUntil(now() + absl::Seconds(1));
  }
  if (writes()) register_->CheckWrites();
  if (shards_ != nullptr) shards_->CheckNothingIsLeft();
  for (const auto& [czxid, path] : history_.nodes()) Break("node left behind", path);
  const size_t watches = model().watches();
  if (watches > 0) Break("watch left behind", absl::StrCat(watches, " watches"));
}

void LockWorld::CloseEverything() {
  std::vector<std::shared_ptr<base::OneShot<absl::Status>>> closed;
  for (const Process& process : processes_) {
    closed.push_back(std::make_shared<base::OneShot<absl::Status>>());
    process.core->Close(closed.back());
  }
  simulation_.RunUntil(now() + absl::Seconds(1));
  for (size_t i = 0; i < closed.size(); ++i) {
    if (processes_[i].died) continue;
    if (!processes_[i].host->stopped()) Break("client not closed", absl::StrCat("process ", i));
  }
}

void LockWorld::CheckCallbacks() {
  for (const auto& bid : bids_) {
    if (bid->died) continue;
    if (bid->answers != 1)
      Break("never answered", absl::StrCat("a bid was answered ", bid->answers, " times"));
    if (bid->on_lost.has_value() && bid->losses != 1) {
      Break("never answered", absl::StrCat("its end was told ", bid->losses, " times"));
    }
  }
}

}  // namespace zkrecipes::schedules
