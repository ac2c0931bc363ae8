// SPDX-License-Identifier: Apache-2.0

#include "verification/schedules/shards.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"

namespace zkrecipes::schedules {

namespace {

constexpr char kAt[] = "/p";
constexpr absl::Duration kLongestPause = absl::Seconds(2);

// Bits of `traits_`.
enum Trait : uint64_t { kPlain = 1, kFreshIds = 2, kOneAtOnce = 4, kNoFirstWait = 8 };

}  // namespace

Shards::Shards(testing::memory::ModelEnsemble& model, const QueueHistory& queue,
               std::function<void()> follow, Break on_broken, const Options& options)
    : WatchedGroup(model, queue, std::move(follow), std::move(on_broken)),
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
  for (const Member* const member : EverIn(slot)) {
    works += static_cast<size_t>(std::ranges::count_if(member->works, [asked](const Work& work) {
      return !asked || work.partition.end().stop_requested();
    }));
  }
  return works;
}

void Shards::EndAsked(size_t slot) {
  for (Member* const member : EverIn(slot)) {
    std::erase_if(member->works,
                  [](const Work& work) { return work.partition.end().stop_requested(); });
  }
}

void Shards::EndWork(size_t slot, size_t which) {
  for (Member* const member : EverIn(slot)) {
    if (which < member->works.size()) {
      member->works.erase(std::next(member->works.begin(), static_cast<std::ptrdiff_t>(which)));
      return;
    }
    which -= member->works.size();
  }
}

void Shards::DestroyAll(const Core& core) {
  for (Member* const member : Living()) {
    if (member->core != core) continue;
    member->Destroy();
    if (slots_[member->slot].get() == member) slots_[member->slot] = nullptr;
  }
  StopWatching(core);
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
  StopWatching(core);
  NoteClose(core);
}

void Shards::Forget() {
  StopWatching();
  for (const auto& member : members_) {
    member->died = true;  // it is told nothing any more
    member->Destroy();
  }
}

bool Shards::IsInertInAChild() {
  bool inert = true;
  StopWatching();
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

// ---- who is who ---------------------------------------------------------------------------------

std::vector<Shards::Member*> Shards::Living() const {
  std::vector<Member*> living;
  for (const auto& member : members_) {
    if (!member->died) living.push_back(member.get());
  }
  return living;
}

std::vector<Shards::Member*> Shards::EverIn(size_t slot) const {
  std::vector<Member*> its = Living();
  std::erase_if(its, [slot](const Member* member) { return member->slot != slot; });
  return its;
}

std::vector<Shards::Member*> Shards::Sharing() const {
  std::vector<Member*> sharing;
  for (const auto& member : slots_) {
    if (member != nullptr && member->running.has_value()) sharing.push_back(member.get());
  }
  return sharing;
}

}  // namespace zkrecipes::schedules
