// SPDX-License-Identifier: Apache-2.0
//
// A path of Partitions: who owns what, and who is there.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/output.h"
#include "tools/zkr/partitions.h"

namespace zkrecipes::zkr::doctor {
namespace {

using State = PartitionMember::State;
using Strings = std::vector<std::string>;

// What is handed on, or joins again, has had its time by then.
constexpr absl::Duration kLong = absl::Minutes(1);

const PartitionMember* Present(const PartitionsView& view, const std::string& id) {
  const auto found = std::ranges::find_if(view.members, [&](const PartitionMember& m) {
    return m.state == State::kPresent && m.id == id;
  });
  return found == view.members.end() ? nullptr : &*found;
}

// Nothing tells which names are of a list, but whether all are: of several lists nothing is said.
void JudgeUnowned(const PartitionsView& view, const PathFacts& path, Findings& found) {
  const std::optional<bool> whole = view.IsWhole();
  if (!whole || view.AreOwned() == true) return;
  Strings idle;
  for (const PartitionQueue& p : view.partitions) {
    if (p.unowned()) idle.push_back(p.name);
  }
  const std::string what =
      *whole ? absl::StrCat(NameSome(idle), idle.size() == 1 ? " is" : " are", " owned by nobody")
             : "the partitions that have nodes are not those of the members' list: some that "
               "nobody owns or waits for have none, or nodes of an earlier list are still there";
  found.push_back(
      {kLikely, "partition-unowned", path.path,
       absl::StrCat(what,
                    ", though members are there; for a moment that is so while a fleet starts, or "
                    "while one is handed on"),
       "ask again; if it stays, look for a member whose work did not end with its lease, which "
       "keeps the partition from beginning again there (state lost in its metrics)"});
}

// Nobody hands over to a stranger that queues for a lock, or because of members with another list.
bool MayShare(const PartitionsView& view, const std::string& owner, const std::string& waiter) {
  const PartitionMember* const one = Present(view, owner);
  const PartitionMember* const other = Present(view, waiter);
  if (owner == waiter || other == nullptr) return false;
  return one == nullptr || one->list == other->list;
}

void JudgeKept(const Facts& facts, const PathFacts& path, Findings& found) {
  const PartitionsView& view = *facts.partitions;
  std::map<std::string, Strings> kept;  // by owner
  for (const PartitionQueue& p : view.partitions) {
    const ContenderInfo* const owner = p.owner();
    if (owner == nullptr || !IsRead(*owner)) continue;
    const auto waits_long = [&](const ContenderInfo& c) {
      return IsRead(c) && facts.now - c.since > kLong &&
             MayShare(view, owner->owner.id, c.owner.id);
    };
    if (!std::any_of(p.queue->begin() + 1, p.queue->end(), waits_long)) continue;
    kept[OwnerText(owner->owner)].push_back(p.name);
  }
  for (const auto& [owner, names] : kept) {
    found.push_back(
        {kLikely, "partition-kept", path.path,
         absl::StrCat(Printable(owner), " owns ", NameSome(names),
                      ", for which another member has waited longer than a minute: work that was"
                      " asked to end has not, or it is no member, or one of both may not list ",
                      path.path, "/homes, and so each takes them for its own"),
         "see to it that work returns once its end is requested; AcquireOptions::alive_within "
         "bounds how long one that hangs keeps a partition"});
  }
}

void JudgeTwins(const Facts& facts, const PathFacts& path, Findings& found) {
  for (const PartitionMember& earlier : facts.partitions->members) {
    if (earlier.state != State::kReplaced) continue;
    const PartitionMember* const later = Present(*facts.partitions, earlier.id);
    // One that came back leaves its earlier node to the end of that session.
    if (later == nullptr || later->node.session == earlier.node.session ||
        facts.now - later->node.since <= kLong) {
      continue;
    }
    found.push_back(
        {kLikely, "member-twin", path.path,
         absl::StrCat("two sessions, ", SessionText(earlier.node.session), " and ",
                      SessionText(later->node.session), ", have been members with the id ",
                      Printable(earlier.id),
                      " for longer than a minute: they count as one, and each waits for what the"
                      " other has"),
         "give each process an id of its own"});
  }
}

void JudgeLists(const PartitionsView& view, const PathFacts& path, Findings& found) {
  if (view.Lists().size() < 2) return;
  std::string who;
  for (const std::string& list : view.Lists()) {
    Strings ids;
    for (const PartitionMember& m : view.members) {
      if (m.state == State::kPresent && m.list == list) ids.push_back(m.id);
    }
    absl::StrAppend(&who, who.empty() ? "" : "; ", list, ": ", NameSome(ids));
  }
  found.push_back({kLikely, "member-lists-differ", path.path,
                   absl::StrCat("members have different lists of names (", who,
                                "): each group divides all of its own list, and takes over only"
                                " what the other gives up"),
                   "restart those with the old list; while a rollout changes it this is to be"
                   " expected"});
}

// The members, as contenders of their group. Only the locks of a member say which process it is:
// those of its session, as an earlier process with its id may still have some.
Facts WithMembers(const Facts& facts) {
  Facts as = facts;
  as.contenders.clear();
  for (const PartitionMember& m : facts.partitions->members) {
    if (m.state == State::kAway) continue;
    ContenderInfo& c = as.contenders.emplace_back(m.node);
    for (const PartitionQueue& p : facts.partitions->partitions) {
      if (m.Owns(p)) c.owner = p.owner()->owner;
    }
  }
  return as;
}

// Where zkr ls and zkr break find those nodes.
PathFacts GroupOf(PathFacts path) {
  path.path += "/members";
  return path;
}

}  // namespace

void JudgePartitions(const Facts& facts, const PathFacts& path, Findings& found) {
  JudgeUnowned(*facts.partitions, path, found);
  JudgeKept(facts, path, found);
  JudgeTwins(facts, path, found);
  JudgeLists(*facts.partitions, path, found);
  JudgeHolders(WithMembers(facts), GroupOf(path), found);
}

}  // namespace zkrecipes::zkr::doctor
