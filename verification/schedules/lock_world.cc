// SPDX-License-Identifier: Apache-2.0
//
// Moves that happen by themselves, and the checks after each move.

#include "verification/schedules/lock_world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/base/one_shot.h"

namespace zkrecipes::schedules {

using testing::memory::ConnectionId;

namespace {

// Where operators and other tenants intervene.
const char* PathFor(const LockWorldOptions& options) {
  if (options.partitions == 0) return kLockPath;
  const bool group = options.weather != Weather::kHostile && options.seed % 2 == 0;
  return group ? Shards::kGroupPath : Shards::kFirstLock;
}

}  // namespace

template <typename Reader, typename... Options>
std::shared_ptr<Reader> LockWorld::NewReader(const Options&... options) {
  return std::make_shared<Reader>(
      model(), history_, [this] { Follow(); },
      [this](const std::string& rule, const std::string& what) { Break(rule, what); }, options...);
}

LockWorld::LockWorld(const LockWorldOptions& options)
    : options_(options),
      simulation_({.keep_history = true,
                   .hostile_expiry = true,
                   .old_addresses_drop = options.seed % 2 == 1,
                   .traits = options.servers},
                  options.seed),
      history_(PathFor(options), static_cast<size_t>(options.permits)),
      slots_(options.partitions > 0 ? 0 : static_cast<size_t>(options.slots)),
      tenant_(model(), PathFor(options)),
      election_(options.election ? NewReader<Election>() : nullptr),
      register_(options.writes ? NewReader<Register>() : nullptr),
      shards_(options.partitions > 0 ? NewReader<Shards>(Shards::Options{
                                           static_cast<size_t>(options.partitions),
                                           static_cast<size_t>(options.slots), options.seed})
                                     : nullptr) {
  if (elects()) election_->AfterEachCallback([this](const auto& core) { EndCallback(core); });
  if (shards() != nullptr) {
    shards_->AfterEachCallback([this](const auto& core) { EndCallback(core); });
  }
  if (writes()) register_->Create(now());
  for (int i = 0; i < options.processes; ++i) current_.push_back(OpenClient());
  if (options.weather == Weather::kEveryday) {
    Everyday::Hosts hosts;
    for (const Process& process : processes_) hosts.push_back(process.host);
    everyday_ = std::make_unique<Everyday>(simulation_, hosts, options.session_timeout);
  }
  if (options.next_sequence == 0) return;
  (void)model().OperatorCreates(kLockPath, {}, now());
  model().Spread();
  model().SetNextSequence(kLockPath, options.next_sequence);
}

LockWorld::~LockWorld() {
  for (const auto& bid : bids_) bid->lease.reset();
  // As a Client does when it goes: a session is never dropped while it may be in use.
  for (const Process& process : processes_) {
    process.core->Close(std::make_shared<base::OneShot<absl::Status>>());
  }
  if (shards() == nullptr) return;
  // A member keeps itself until it is over, also one whose process has died: its client tells it.
  shards_->Forget();
  for (const Process& process : processes_) {
    process.host->set_paused(false);
    process.host->set_network(testing::memory::Host::Network::kUp);
  }
  simulation_.RunUntil(now() + absl::Minutes(1));
}

// ---- what happens -------------------------------------------------------------------------------

size_t LockWorld::CountOf(Who who) {
  switch (who) {
    case Who::kProcess:
      return processes_.size();
    case Who::kClient:
      return current_.size();
    case Who::kOrphan:
      return Orphans().size();
    case Who::kServer:
      return static_cast<size_t>(servers());
    case Who::kSlot:
      return slots_.size();
    case Who::kMember:
      return shards_ == nullptr ? 0 : shards_->slots();
    case Who::kNone:
      break;
  }
  return 1;
}

bool LockWorld::Can(const Move& move) {
  const MoveRow& row = RowOf(move.kind);
  const bool exists = row.who == Who::kNone || move.who < CountOf(row.who);
  // What it has sent may still arrive.
  const bool died = exists && row.who == Who::kProcess && processes_[move.who].died;
  if (died && move.kind != MoveKind::kExecute) return false;
  return exists && (row.can == nullptr || row.can(*this, move));
}

bool LockWorld::Make(const Move& move) {
  if (!Can(move)) return false;
  LetThrow([&] { RowOf(move.kind).make(*this, move); });
  troubled_ |= IsFault(move.kind);
  Check();
  return true;
}

void LockWorld::ListOrdinary(std::vector<Move>& moves) {
  for (const MoveRow& row : kMoves) {
    if (row.kind > MoveKind::kAdvance) return;
    const auto count = static_cast<uint32_t>(CountOf(row.who));
    for (uint32_t who = 0; who < count; ++who) {
      Move move{row.kind, who};
      const size_t each = row.kind == MoveKind::kCallback ? host(who).callbacks() : 1;
      for (; move.which < each; ++move.which) {
        if (row.can(*this, move)) moves.push_back(move);
      }
    }
  }
}

void LockWorld::Break(const std::string& rule, const std::string& what) {
  if (!broken_.has_value()) broken_ = {rule, what};
}

ConnectionId LockWorld::ConnectionOf(uint32_t process) {
  ConnectionId found = 0;
  model().ForEachConnection([&](ConnectionId id) {
    if (host(process).Owns(id)) found = id;
  });
  return found;
}

std::vector<ConnectionId> LockWorld::Orphans() {
  std::vector<ConnectionId> orphans;
  model().ForEachConnection([&](ConnectionId id) {
    const auto owns = [id](const Process& process) { return process.host->Owns(id); };
    if (std::ranges::none_of(processes_, owns)) orphans.push_back(id);
  });
  return orphans;
}

// ---- rules --------------------------------------------------------------------------------------

void LockWorld::Check() {
  Follow();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] != nullptr && slots_[i]->lease.has_value()) CheckLease(*slots_[i], i);
  }
  if (delays() || keeps()) CheckOneBelieves();
  if (options_.permits > 0) CheckPermits();
  if (shards_ != nullptr) shards_->Check();
  if (everyday()) CheckIsAvailable();
}

// A session that ends takes leases and places in the queue with it.
void LockWorld::CheckIsAvailable() {
  for (Process& process : processes_) {
    const zk::SessionId session = process.core->session_id();
    if (process.session == 0) process.session = session;
    if (session == process.session) continue;
    Break("lost a session", absl::StrCat("process ", &process - processes_.data()));
  }
  for (const auto& bid : slots_) {
    if (bid == nullptr || !bid->lease.has_value() || bid->excused) continue;
    if (bid->seen != Lease::State::kLost) continue;
    bid->excused = !everyday_->HasSettled(bid->granted);
    if (!bid->excused) Break("lost a lease", bid->lease->node());
  }
  if (shards_ == nullptr) return;
  shards_->CheckNothingIsLost(
      [this](base::BootTime granted) { return everyday_->HasSettled(granted); });
}

void LockWorld::Follow() {
  history_.Follow(model(), now());
  if (elects()) election_->Follow();
  if (writes()) register_->Follow();
  if (shards_ != nullptr) shards_->Follow(now());
}

// A lease with a lock delay may outlive its node: it rests on the delay that the next holder waits.
// A reader's does not, and is judged by its node alone (CheckLease); so is a turn, but two may have
// the same node.
void LockWorld::CheckOneBelieves() {
  const Lease* before = nullptr;
  bool exclusive = false;
  for (const auto& bid : slots_) {
    if (bid == nullptr || !bid->lease.has_value()) continue;
    if (bid->lease->remaining() == absl::ZeroDuration()) continue;
    const bool by_node = keeps() || !bid->exclusive();
    if (by_node && history_.EndOf(bid->node).has_value()) continue;
    exclusive |= bid->exclusive();
    if (before != nullptr && exclusive) {
      Break("two believed at once", absl::StrCat(before->node(), " and ", bid->lease->node()));
    }
    before = &*bid->lease;
  }
}

// Of those whose nodes an operator did not delete.
void LockWorld::CheckPermits() {
  int believers = 0;
  bool alone = false;
  for (const auto& bid : slots_) {
    if (bid == nullptr || !bid->lease.has_value()) continue;
    if (history_.EndOf(bid->node).has_value()) continue;  // CheckLease judges it
    if (bid->lease->remaining() == absl::ZeroDuration()) continue;
    ++believers;
    alone |= bid->exclusive();
  }
  if (believers > (alone ? 1 : options_.permits)) Break("too many believed at once", Describe());
}

// Once it is calm: its turn had come at the last call already, half a session timeout ago.
void LockWorld::CheckNoPermitIsFree() {
  const std::set<int64_t> before = std::exchange(admitted_, {});
  for (const auto& [czxid, path] : history_.nodes()) {
    if (!history_.IsAdmitted(czxid)) continue;
    admitted_.insert(czxid);
    const bool waits = std::ranges::any_of(Live(), [czxid = czxid, this](const auto& bid) {
      return bid->waiting() && bid->core->sessions().Of(history_.OwnerOf(czxid)) != nullptr;
    });
    const bool holds = std::ranges::any_of(slots_, [czxid = czxid](const auto& bid) {
      return bid != nullptr && bid->lease.has_value() && bid->node == czxid;
    });
    if (waits && !holds && before.contains(czxid)) {
      Break("a permit is free and one waits", absl::StrCat(path, "\n", Describe()));
    }
  }
}

void LockWorld::CheckLease(Bid& bid, size_t slot) {
  const Lease::State state = bid.seen = bid.lease->state();
  const auto who = [&] { return absl::StrCat("slot ", slot, " with ", bid.lease->node()); };
  const bool released = state == Lease::State::kReleased;
  if (bid.closed && released && bid.next == nullptr) Break("released by nobody", who());
  if (state != Lease::State::kHeld && state != Lease::State::kSuspect) return;
  if (bid.losses > 0) Break("held after its loss", who());
  const bool rests_on_delay = delays() && bid.exclusive();
  if (!rests_on_delay && history_.IsGone(bid.node)) {
    const absl::Duration left = bid.lease->remaining();
    if (left > absl::ZeroDuration()) {
      Break("believed too long", absl::StrCat(who(), ", for another ", absl::FormatDuration(left)));
    }
  }
  const zk::SessionId owner = history_.OwnerOf(bid.node);
  // A client has several while one waits for its end: a node in it could not be deleted.
  if (bid.core->sessions().Of(owner) == nullptr) {
    Break("believed in a foreign session",
          absl::StrCat(who(), " of session ", owner, " beside session ", bid.core->session_id()));
  }
}

void LockWorld::RunUntil(base::BootTime when) {
  simulation_.RunUntilIdle();
  Check();
  for (bool there = false; !there && !broken_.has_value();) {
    base::BootTime next = std::max(now(), simulation_.NextDeadline());
    if (everyday()) next = std::min(next, everyday_->NextEnd());
    there = next > when;
    simulation_.SetTime(std::min(next, when));
    if (everyday()) everyday_->EndDue();
    simulation_.RunUntilIdle();
    Check();
  }
}

std::string LockWorld::DescribeSession(zk::SessionId session) {
  const char* alive = model().SessionLives(session) ? "" : " (expired)";
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].core->session_id() != session) continue;
    return absl::StrCat("process ", i, alive);
  }
  return absl::StrCat("an earlier session", alive);
}

std::string LockWorld::Describe() {
  std::string text = "  queue:";
  for (const auto& [czxid, path] : history_.nodes()) {
    absl::StrAppend(&text, " #", path.substr(path.size() - 3), " of ",
                    DescribeSession(history_.OwnerOf(czxid)));
  }
  if (shards_ != nullptr) text += shards_->Describe();
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] == nullptr) continue;
    const bool holds = slots_[i]->lease.has_value();
    absl::StrAppend(&text, "\n  slot ", i, holds ? " has " : " waits",
                    holds ? slots_[i]->lease->node() : "",
                    slots_[i]->next != nullptr ? ", and goes on from it" : "");
  }
  return text;
}

}  // namespace zkrecipes::schedules
