// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/shards.h"

#include <algorithm>
#include <random>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/queue/listing/node_data.h"
#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::schedules {

using testing::memory::Transaction;

namespace {

constexpr char kAt[] = "/p";
// Of the views of a session, so many first ones may be of the session before.
constexpr int kUnordered = 2;
constexpr absl::Duration kLongestPause = absl::Seconds(2);

// Bits of `traits_`.
enum Trait : uint64_t { kPlain = 1, kFreshIds = 2, kOneAtOnce = 4, kNoFirstWait = 8 };

}  // namespace

struct Shards::Member {
  Core core;
  size_t slot;
  std::string id;
  std::optional<Partitions::Running> running = {};
  // Of one that shares nothing.
  std::stop_source cancel = {};
  std::optional<Membership> membership = {};
  std::list<Work> works = {};
  PartitionsReport report = {};
  bool died = false;

  void Leave() {
    cancel.request_stop();
    running.reset();
    membership.reset();
  }
  void Destroy() {
    Leave();
    works.clear();
  }
  bool Refused() const { return running.has_value() && !running->status().ok(); }
};

Shards::Shards(testing::memory::ModelEnsemble& model, const QueueHistory& queue,
               std::function<void()> follow, Break on_broken, const Options& options)
    : HistoryReader(model, queue, std::move(follow), std::move(on_broken)),
      traits_(std::mt19937_64(options.seed)()),
      slots_(options.slots) {
  for (size_t i = 0; i < options.partitions; ++i) {
    const std::string name = absl::StrCat(i);
    queues_.emplace(name, QueueHistory(absl::StrCat(kAt, "/partitions/", name)));
  }
}

// ---- what users do ------------------------------------------------------------------------------

void Shards::JoinOrLeave(size_t slot, const std::shared_ptr<Client>& client,
                         AcquireOptions acquire) {
  if (const auto leaver = std::exchange(slots_[slot], nullptr)) {
    leaver->Leave();
    return;
  }
  const std::string fresh =
      (traits_ & kFreshIds) != 0 ? absl::StrCat("-", members_.size()) : std::string();
  slots_[slot] = members_.emplace_back(std::make_shared<Member>(
      Member{internal::ClientAccess::Core(*client), slot, absl::StrCat("slot-", slot, fresh)}));
  const bool plain = (traits_ & kPlain) != 0 && slot > 1 && slot + 1 == slots_.size();
  plain ? Join(*slots_[slot], client, std::move(acquire))
        : Start(*slots_[slot], client, std::move(acquire));
}

// Weak: what is on its way outlives the world.
void Shards::Start(Member& member, const std::shared_ptr<Client>& client, AcquireOptions acquire) {
  PartitionsOptions options{.id = member.id, .longest_pause = kLongestPause};
  options.acquire = std::move(acquire);
  if ((traits_ & kOneAtOnce) != 0) options.at_once = 1;
  if ((traits_ & kNoFirstWait) != 0) options.first_wait = absl::ZeroDuration();
  const auto safely = [weak = weak_from_this(), m = &member](auto does) {
    return [weak, m, does](auto what) {
      const auto self = weak.lock();
      if (self == nullptr || m->died) return;
      if (!m->running.has_value()) self->break_("told after its end", m->id);
      does(*self, *m, std::move(what));
      self->after_callback_(m->core);
    };
  };
  auto running =
      Partitions(client, kAt, static_cast<int>(queues_.size()), options)
          .Start({.on_gained = safely([](Shards& self, Member& m, OwnedPartition partition) {
                    self.OnGained(m, std::move(partition));
                  }),
                  .on_change = safely(
                      [](Shards&, Member& m, PartitionsReport report) { m.report = report; }),
                  .on_ended = safely([](Shards& self, Member& m, absl::Status status) {
                    self.OnEnded(m, status);
                  })});
  if (!running.ok()) return break_("unexpected answer", running.status().ToString());
  member.running = *std::move(running);
}

void Shards::Join(Member& member, const std::shared_ptr<Client>& client, AcquireOptions acquire) {
  Group(client, kGroupPath, acquire)
      .JoinAsync({.id = member.id}, {.cancel = member.cancel.get_token()},
                 [weak = weak_from_this(), m = &member](absl::StatusOr<Membership> joined) {
                   const auto self = weak.lock();
                   if (self == nullptr || m->died) return;
                   if (joined.ok() && !m->cancel.stop_requested()) {
                     m->membership = *std::move(joined);
                   } else if (!joined.ok()) {
                     self->OnEnded(*m, joined.status());
                   }
                   self->after_callback_(m->core);
                 });
}

size_t Shards::Works(size_t slot, bool asked) const {
  size_t works = 0;
  for (const auto& member : Living()) {
    if (member->slot != slot) continue;
    works += static_cast<size_t>(std::ranges::count_if(member->works, [asked](const Work& work) {
      return !asked || work.partition.end().stop_requested();
    }));
  }
  return works;
}

void Shards::EndAsked(size_t slot) {
  for (Member* const member : Living()) {
    if (member->slot != slot) continue;
    std::erase_if(member->works,
                  [](const Work& work) { return work.partition.end().stop_requested(); });
  }
}

void Shards::EndWork(size_t slot, size_t which) {
  for (Member* const member : Living()) {
    if (member->slot != slot) continue;
    if (which < member->works.size()) {
      member->works.erase(std::next(member->works.begin(), static_cast<std::ptrdiff_t>(which)));
      return;
    }
    which -= member->works.size();
  }
}

void Shards::WatchOrStop(const std::shared_ptr<Client>& client) {
  const Core core = internal::ClientAccess::Core(*client);
  const auto its = [&](const Watcher& w) { return w.core == core && !w.ended; };
  if (std::erase_if(watchers_, its) > 0) return;
  Watcher& watcher = watchers_.emplace_back(Watcher{.core = core});
  watcher.subscription =
      Group(client, kGroupPath).Watch([this, w = &watcher, core](absl::StatusOr<GroupView> view) {
        OnView(*w, view);
        after_callback_(core);
      });
}

void Shards::DestroyAll(const Core& core) {
  for (Member* const member : Living()) {
    if (member->core != core) continue;
    member->Destroy();
    if (slots_[member->slot].get() == member) slots_[member->slot] = nullptr;
  }
  std::erase_if(watchers_, [&](const Watcher& w) { return w.core == core && !w.ended; });
}

// Its members end by themselves; their slots are another client's.
void Shards::NoteClose(const Core& core) {
  HistoryReader::NoteClose(core);
  for (auto& member : slots_) {
    if (member != nullptr && member->core == core) member = nullptr;
  }
}

void Shards::NoteDeath(const Core& core) {
  for (const auto& member : members_) member->died |= member->core == core;
  std::erase_if(watchers_, [&](const Watcher& w) { return w.core == core && !w.ended; });
  NoteClose(core);
}

void Shards::Forget() {
  watchers_.clear();
  for (const auto& member : members_) {
    member->died = true;  // it is told nothing any more
    member->Destroy();
  }
}

bool Shards::IsInertInAChild() {
  bool inert = true;
  watchers_.clear();
  for (const auto& member : members_) {
    if (member->running.has_value()) {
      inert &= absl::IsFailedPrecondition(member->running->status());
    }
    if (member->membership.has_value()) {
      inert &= member->membership->state() == Membership::State::kEnded;
    }
    for (const Work& work : member->works) {
      inert &= work.partition.lease().state() == Lease::State::kLost;
    }
    member->running.reset();
    member->membership.reset();
    member->works.clear();
  }
  return inert;
}

// ---- what they are told -------------------------------------------------------------------------

void Shards::OnGained(Member& member, OwnedPartition partition) {
  follow_();
  ++gained_;
  const std::string who = absl::StrCat(member.id, " with ", partition.name());
  for (const Work& other : member.works) {
    if (other.partition.name() == partition.name()) break_("begun beside its earlier work", who);
  }
  const int64_t node = partition.lease().token().value();
  if (!granted_.insert(node).second) break_("granted twice", who);
  const QueueHistory& queue = queues_.at(partition.name());
  member.works.push_back(
      {.partition = std::move(partition), .queue = &queue, .node = node, .gained = now_});
  if (!queue.WasAdmitted(node, 0)) break_("granted though never first", who);
  Check();
}

void Shards::OnEnded(Member& member, const absl::Status& status) {
  follow_();
  const bool cancelled = member.cancel.stop_requested() && absl::IsCancelled(status);
  if (!cancelled && !Explains(member.core, status)) {
    break_("unexpected answer", absl::StrCat(member.id, ": ", status.ToString()));
  }
  if (slots_[member.slot].get() == &member) slots_[member.slot] = nullptr;
}

// A member that shares nothing is not begun again where it was not proven, or an operator
// deleted its node.
bool Shards::Explains(const Core& core, const absl::Status& status) const {
  return (closed_.count(core) > 0 && absl::IsFailedPrecondition(status)) ||
         (denied_ && absl::IsPermissionDenied(status)) ||
         (model_.refused_some() && absl::IsResourceExhausted(status)) ||
         (!deleted_.empty() && absl::IsAborted(status)) ||
         (absl::IsUnavailable(status) && absl::StrContains(status.message(), "not proven alive"));
}

// ---- rules, after each move ---------------------------------------------------------------------

void Shards::Follow(base::BootTime now) {
  now_ = now;
  for (auto& [name, queue] : queues_) queue.Follow(model_, now);
  HistoryReader::Follow();
}

// Of two nodes with one id the later one counts.
void Shards::Read(const Transaction& change) {
  using enum Transaction::Kind;
  if (change.kind == kCreate && zk::ParentPath(change.path) == kGroupPath) {
    const auto name = queue::machine::ParseNodeName(zk::NodeName(change.path));
    const bool member = name.has_value() && name->mode == queue::machine::Mode::kMember;
    if (!member || change.node.owner == 0) return;
    present_[change.zxid] = {change.path, queue::listing::ParseCandidate(change.node.data).id,
                             change.node.owner};
  } else if (change.kind != kDelete && change.kind != kCloseSession) {
    return;
  }
  std::erase_if(present_, [&](const auto& entry) {
    const bool deleted = change.kind == kDelete && entry.second.path == change.path;
    if (deleted && change.session == 0) deleted_.insert(entry.first);
    return deleted || (change.kind == kCloseSession && entry.second.owner == change.session);
  });
  std::map<std::string, int64_t> latest;
  for (const auto& [token, node] : present_) latest[node.id] = token;
  std::set<int64_t> state;
  for (const auto& [id, token] : latest) state.insert(token);
  if (state != states_.back()) states_.push_back(std::move(state));
}

// One look at each lease serves all rules: what it says does not change in here. How long it is
// believed is asked where that decides.
void Shards::Check() {
  absl::InlinedVector<const Work*, 8> believed;
  for (const auto& member : members_) {
    if (member->died) continue;
    if (const auto& its = member->membership; its.has_value()) {
      const auto token = its->token();
      const bool counts = !token.has_value() || present_.contains(token->value()) ||
                          deleted_.contains(token->value()) || !its->believed();
      if (!counts) break_("believed too long", absl::StrCat("member ", member->id));
    }
    for (Work& work : member->works) {
      CheckWork(*member, work);
      // CheckBelief judges those whose nodes have gone.
      if (!work.believed() || work.queue->EndOf(work.node).has_value()) continue;
      const bool twice = std::ranges::any_of(believed, [&](const Work* other) {
        return other->queue == work.queue && other->HasTimeLeft() && work.HasTimeLeft();
      });
      if (twice) break_("two believed at once", work.partition.name() + "\n" + Describe());
      believed.push_back(&work);
    }
  }
}

void Shards::CheckWork(const Member& member, Work& work) const {
  work.state = work.partition.lease().state();
  if (work.believed()) CheckBelief(member, work);
  if (work.judged || !work.partition.end().stop_requested()) return;
  work.judged = true;
  CheckReason(member, work);
}

void Shards::CheckBelief(const Member& member, const Work& work) const {
  const auto who = [&] { return absl::StrCat(member.id, " with ", work.partition.name()); };
  const bool gone = work.queue->IsGone(work.node);
  const bool foreign = member.core->sessions().Of(work.queue->OwnerOf(work.node)) == nullptr;
  if ((!gone && !foreign) || !work.HasTimeLeft()) return;
  if (gone) {
    const absl::Duration left = work.partition.lease().remaining();
    break_("believed too long", absl::StrCat(who(), ", for another ", absl::FormatDuration(left)));
  }
  if (foreign) break_("believed in a foreign session", who());
}

// Nobody is interrupted who need not be.
void Shards::CheckReason(const Member& member, const Work& work) const {
  const QueueHistory& queue = *work.queue;
  const std::string who = absl::StrCat(member.id, " with ", work.partition.name());
  switch (*work.partition.end_reason()) {
    case PartitionEnd::kAskedBack:
      if (!queue.CreatedByOthers(work.node, 0) && !queue.strangers() && !denied_) {
        break_("asked back for nobody", who);
      }
      return;
    case PartitionEnd::kStopping:
      if (member.running.has_value() && !member.Refused()) break_("stopped by nobody", who);
      return;
    case PartitionEnd::kLost:
      if (!work.partition.lease().end_reason().has_value()) break_("told of no loss", who);
      return;
  }
}

void Shards::CheckNothingIsLost(absl::FunctionRef<bool(base::BootTime granted)> settled) {
  for (const auto& member : members_) {
    if (closed_.count(member->core) > 0) continue;
    for (const Work& work : member->works) {
      const bool lost = work.state == Lease::State::kLost || work.state == Lease::State::kReleased;
      if (lost && settled(work.gained)) break_("lost a lease", work.partition.name());
    }
  }
}

// Each view is the group as it was at some time, and later ones are not of an earlier time.
void Shards::OnView(Watcher& watcher, const absl::StatusOr<GroupView>& view) {
  follow_();
  if (watcher.ended) break_("told after an error", "a watcher");
  if (!view.ok()) {
    watcher.ended = true;
    if (!Explains(watcher.core, view.status())) {
      break_("unexpected answer", "a watcher: " + view.status().ToString());
    }
    return;
  }
  watcher.view = *view;
  if (view->connected) CheckView(watcher);
}

namespace {

std::set<int64_t> TokensOf(const GroupView& view) {
  std::set<int64_t> tokens;
  for (const zkrecipes::Member& member : view.members) tokens.insert(member.token.value());
  return tokens;
}

}  // namespace

// A new session may begin at a server that is behind.
void Shards::CheckView(Watcher& watcher) {
  const zk::SessionId session = watcher.core->session_id();
  if (std::exchange(watcher.session, session) != session) watcher.tells = 0;
  if (++watcher.tells <= kUnordered) watcher.state = 0;
  const std::set<int64_t> seen = TokensOf(*watcher.view);
  const auto from = states_.begin() + static_cast<std::ptrdiff_t>(watcher.state);
  const auto found = std::find(from, states_.end(), seen);
  if (found == states_.end()) {
    const bool ever = std::ranges::find(states_, seen) != states_.end();
    return break_(ever ? "saw an earlier group" : "saw a group that never was",
                  absl::StrCat(seen.size(), " members"));
  }
  watcher.state = static_cast<size_t>(found - states_.begin());
}

// ---- rules, once it is calm ---------------------------------------------------------------------

// Who owns a partition twice counts twice.
Shards::Owners Shards::FindOwners() const {
  Owners owners;
  for (const auto& [name, queue] : queues_) {
    std::pair<const Member*, int64_t> owner;
    int believers = 0;
    for (const Member* const member : Living()) {
      for (const Work& work : member->works) {
        if (work.partition.name() != name || !work.partition.lease().believed()) continue;
        ++believers;
        owner = {member, work.node};
      }
    }
    owners.push_back(believers == 1 ? owner : std::pair<const Member*, int64_t>());
  }
  return owners;
}

// All are owned, by members that take part, who have their fair shares; and they know that.
std::optional<std::string> Shards::WhyUnsettled() const {
  const Owners owners = FindOwners();
  const std::vector<Member*> sharing = Sharing();
  for (const auto& [owner, node] : owners) {
    if (owner == nullptr) return "one has no owner, or several";
    if (std::ranges::find(sharing, owner) == sharing.end()) return "one is owned by a leaver";
  }
  for (const Member* const member : sharing) {
    const auto share = static_cast<size_t>(
        std::ranges::count(owners, member, &std::pair<const Member*, int64_t>::first));
    if (share < owners.size() / sharing.size() ||
        share > (owners.size() + sharing.size() - 1) / sharing.size()) {
      return absl::StrCat(member->id, " owns ", share);
    }
    const PartitionsReport& report = member->report;
    const bool right = report.connected && report.members == std::ssize(sharing) &&
                       report.waited_for == 0 && report.lost == 0 &&
                       report.owned == static_cast<int>(share);
    if (!right) return "the report of " + member->id;
  }
  for (const auto& member : slots_) {
    if (member == nullptr || member->running.has_value()) continue;
    const bool joined =
        member->membership.has_value() && member->membership->state() == Membership::State::kMember;
    if (!joined) return member->id + " is no member";
  }
  return std::nullopt;
}

void Shards::CheckKept(const Owners& before) const {
  const Owners after = FindOwners();
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].first != after[i].first || before[i] == after[i]) continue;
    break_("interrupted though it stays", absl::StrCat(i, " of ", after[i].first->id));
  }
}

void Shards::CheckWatchers() const {
  for (const Watcher& watcher : watchers_) {
    if (watcher.ended || closed_.count(watcher.core) > 0) continue;
    const auto& view = watcher.view;
    if (view.has_value() && view->connected && TokensOf(*view) == states_.back()) continue;
    break_("not told of the latest group",
           absl::StrCat(view.has_value() ? std::ssize(view->members) : -1, " members instead of ",
                        states_.back().size()));
  }
}

void Shards::CheckNothingIsLeft() const {
  for (const auto& [name, queue] : queues_) {
    for (const auto& [node, path] : queue.nodes()) break_("node left behind", path);
  }
  for (const auto& [node, present] : present_) break_("node left behind", present.path);
}

std::string Shards::Describe() const {
  std::string text;
  for (const Member* const member : Living()) {
    if (!member->running.has_value() && !member->membership.has_value() && member->works.empty()) {
      continue;
    }
    absl::StrAppend(&text, "\n  ", member->id, IsMember(member->slot) ? "" : ", a leaver", ":");
    for (const Work& work : member->works) {
      absl::StrAppend(&text, " ", work.partition.name(),
                      work.partition.lease().believed() ? "" : " (lost)",
                      work.partition.end().stop_requested() ? " (to end)" : "");
    }
  }
  return text;
}

// ---- who is who ---------------------------------------------------------------------------------

std::vector<Shards::Member*> Shards::Living() const {
  std::vector<Member*> living;
  for (const auto& member : members_) {
    if (!member->died) living.push_back(member.get());
  }
  return living;
}

std::vector<Shards::Member*> Shards::Sharing() const {
  std::vector<Member*> sharing;
  for (const auto& member : slots_) {
    if (member != nullptr && member->running.has_value()) sharing.push_back(member.get());
  }
  return sharing;
}

}  // namespace zkrecipes::schedules
