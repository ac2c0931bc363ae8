// SPDX-License-Identifier: Apache-2.0

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "tools/zkr/doctor/acl.h"
#include "tools/zkr/doctor/finding.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

using enum Finding::Kind;

// What this client cannot do.
void JudgeOwn(const Facts& facts, const PathFacts& path, Findings& found) {
  const std::string about = path.path;
  const bool is_queue = path.kind == PathFacts::Kind::kQueue;
  const char* const remedy = "give credentials that its ACL names, or widen the ACL";
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
  for (const NodeFacts& node : path.queue) {
    if (!node.acl) closed.push_back(node.name);  // nor may this client read it
    if (!node.acl) continue;
    const std::int32_t all = GrantedToAll(*node.acl);
    if ((all & kMayWrite) == 0) closed.push_back(node.name);
    if ((all & kMayWrite) != 0) writable.push_back(node.name);
  }
  const std::string about = path.path;
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
