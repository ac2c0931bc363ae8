// SPDX-License-Identifier: Apache-2.0
//
// The rules by which Shards are judged.

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"

#include "verification/schedules/shards.h"

namespace zkrecipes::schedules {

// ---- after each move ----------------------------------------------------------------------------

void Shards::Follow(base::BootTime now) {
  now_ = now;
  for (auto& [name, queue] : queues_) queue.Follow(model_, now);
  HistoryReader::Follow();
}

// One look at each lease serves all rules: what it says does not change in here. How long it is
// believed is asked where that decides.
void Shards::Check() {
  absl::InlinedVector<const Work*, 8> believed;
  for (const auto& member : members_) {
    if (member->died) continue;
    if (const auto& its = member->membership; its.has_value()) {
      const auto token = its->token();
      const bool counts = !token.has_value() || Counts(token->value()) || !its->believed();
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

// ---- once it is calm ----------------------------------------------------------------------------

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

void Shards::CheckNothingIsLeft() const {
  for (const auto& [name, queue] : queues_) {
    for (const auto& [node, path] : queue.nodes()) break_("node left behind", path);
  }
  CheckNoMemberIsLeft();
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

}  // namespace zkrecipes::schedules
