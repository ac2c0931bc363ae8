// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tools/zkr/doctor/finding.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

using enum Finding::Kind;
using Acl = std::vector<zk::AclEntry>;

// ZooKeeper's permission bits.
constexpr std::int32_t kMayRead = 1;
constexpr std::int32_t kMayWrite = 2;
constexpr std::int32_t kMayCreate = 4;
constexpr std::int32_t kMayDelete = 8;
// The permissions that a contender needs on the path's node.
constexpr std::int32_t kContenderNeeds = kMayRead | kMayCreate | kMayDelete;

template <typename Condition>
std::int32_t GrantedIf(const Acl& acl, Condition condition) {
  std::int32_t granted = 0;
  for (const zk::AclEntry& entry : acl) granted |= condition(entry) ? entry.permissions : 0;
  return granted;
}

bool IsWorld(const zk::AclEntry& entry) { return entry.scheme == "world"; }

std::int32_t GrantedToAll(const Acl& acl) { return GrantedIf(acl, IsWorld); }

std::int32_t GrantedTo(const std::vector<std::string>& users, const Acl& acl) {
  return GrantedIf(acl, [&users](const zk::AclEntry& entry) {
    if (entry.scheme != "digest") return IsWorld(entry);
    // The hash is not always shown.
    return std::ranges::count(users, entry.id.substr(0, entry.id.find(':'))) > 0;
  });
}

std::int32_t PerhapsGranted(const Acl& acl) {
  return GrantedIf(
      acl, [](const zk::AclEntry& entry) { return !IsWorld(entry) && entry.scheme != "digest"; });
}

std::string PermissionNames(std::int32_t permissions) {
  std::vector<std::string> names;
  if ((permissions & kMayRead) != 0) names.push_back("read");
  if ((permissions & kMayWrite) != 0) names.push_back("write");
  if ((permissions & kMayCreate) != 0) names.push_back("create");
  if ((permissions & kMayDelete) != 0) names.push_back("delete");
  const std::string last = names.empty() ? "" : names.back();
  if (names.size() < 2) return last;
  names.pop_back();
  return absl::StrCat(absl::StrJoin(names, ", "), " and ", last);
}

// The permissions that this client lacks.
void JudgeOwn(const Facts& facts, const PathFacts& path, Findings& found) {
  const std::string about = path.path;
  const bool is_queue = path.kind == PathFacts::Kind::kQueue;
  const char* const remedy = "give credentials that its ACL names, or widen the ACL";
  // Nothing else can be said of a path that may not be read, so this is the only finding.
  if (!path.listed && is_queue) {
    found.push_back({kFinding, "acl-lacks-read", about,
                     "this client may not read it, so its queue is not known", remedy});
    return;
  }
  if (!path.node.acl) return;
  const Acl& acl = *path.node.acl;
  const std::int32_t needed = is_queue ? kContenderNeeds : kMayCreate;
  const std::int32_t missing = needed & ~GrantedTo(facts.users, acl);
  if (missing == 0) return;
  const std::int32_t lacks = missing & ~PerhapsGranted(acl);
  // Whether an address or a SASL name is this client's only the servers know.
  if (lacks == 0) {
    found.push_back({kNote, "acl-unknown", about,
                     absl::StrCat("whether this client may ", PermissionNames(missing),
                                  " there is not known: only schemes other than digest grant it"),
                     ""});
    return;
  }
  found.push_back({kFinding, "acl-lacks", about,
                   absl::StrCat("this client may not ", PermissionNames(lacks), " there: it can ",
                                is_queue ? "be no contender" : "make no path below it"),
                   remedy});
}

// Those who may join the queue, but not leave it.
void JudgeIncomplete(const PathFacts& path, Findings& found) {
  const Acl& acl = *path.node.acl;
  std::map<std::pair<std::string, std::string>, std::int32_t> granted;
  for (const zk::AclEntry& entry : acl) granted[{entry.scheme, entry.id}] |= entry.permissions;
  for (const auto& [who, permissions] : granted) {
    // Create without delete: a contender that cannot leave holds up the queue until its session
    // ends.
    const std::int32_t missing = kContenderNeeds & ~(permissions | GrantedToAll(acl));
    if ((permissions & kMayCreate) == 0 || missing == 0) continue;
    found.push_back({kFinding, "acl-incomplete", path.path,
                     absl::StrCat(Printable(who.first), ":", Printable(who.second),
                                  " may create contenders there, but not ",
                                  PermissionNames(missing), ": they cannot leave the queue"),
                     "grant read, create and delete together, or none of them"});
  }
}

void JudgeOpen(const PathFacts& path, Findings& found) {
  const std::int32_t open = GrantedToAll(*path.node.acl) & (kMayCreate | kMayDelete);
  std::vector<std::string> closed, writable;
  // ZooKeeper asks the parent's ACL about a deletion, never the node's own: closed contenders are
  // no use there.
  for (const NodeFacts& node : path.queue) {
    if (!node.acl) closed.push_back(node.name);  // nor may this client read it
    if (!node.acl) continue;
    const std::int32_t all = GrantedToAll(*node.acl);
    if ((all & kMayWrite) == 0) closed.push_back(node.name);
    if ((all & kMayWrite) != 0) writable.push_back(node.name);
  }
  const std::string about = path.path;
  // The parent is closed, so no stranger can take the lock away; data is another matter.
  if (open == 0) {
    if (writable.empty()) return;
    found.push_back(
        {kNote, "contenders-writable", about,
         absl::StrCat("its children are protected, but every client may change the data of ",
                      NameSome(writable), ", such as owner and proclaimed value"),
         "let their clients create nodes with an ACL of their own"});
    return;
  }
  const std::string who_may =
      absl::StrCat("every client (world:anyone) may ", PermissionNames(open), " children");
  const bool may_delete = (open & kMayDelete) != 0;
  // Open by ZooKeeper's default, and nobody has tried to close anything: a note is enough.
  if (closed.empty() || !may_delete) {
    found.push_back(
        {kNote, "acl-open", about,
         absl::StrCat(who_may, ", as by ZooKeeper's default: any client of the ensemble can ",
                      may_delete ? "take the lock from its holder" : "join the queue"),
         "if the network does not keep strangers out, set an ACL on the path's node"});
    return;
  }
  found.push_back(
      {kFinding, "acl-open-parent", about,
       absl::StrCat(who_may, ", also the contenders that have a closed ACL of their own (",
                    NameSome(closed), "): deletion is for the parent's ACL to allow"),
       "set the same ACL on the path's node"});
}

}  // namespace

std::string EntryText(const zk::AclEntry& entry) {
  std::string letters;
  for (const auto& [bit, letter] :
       {std::pair{kMayCreate, 'c'}, std::pair{kMayDelete, 'd'}, std::pair{kMayRead, 'r'},
        std::pair{kMayWrite, 'w'}, std::pair{16, 'a'}}) {
    if ((entry.permissions & bit) != 0) letters.push_back(letter);
  }
  return absl::StrCat(Printable(entry.scheme), ":", Printable(entry.id), " ",
                      letters.empty() ? "-" : letters);
}

Findings JudgeAcls(const Facts& facts, const PathFacts& path) {
  Findings found;
  if (!path.exists) return found;
  JudgeOwn(facts, path, found);
  if (!path.node.acl) return found;
  if (path.kind != PathFacts::Kind::kQueue) return found;  // its children are no contenders
  JudgeIncomplete(path, found);
  JudgeOpen(path, found);
  return found;
}

}  // namespace zkrecipes::zkr::doctor
