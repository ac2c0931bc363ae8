// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/acl.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

template <typename Condition>
std::int32_t GrantedIf(const Acl& acl, Condition condition) {
  std::int32_t granted = 0;
  for (const zk::AclEntry& entry : acl) granted |= condition(entry) ? entry.permissions : 0;
  return granted;
}

bool IsWorld(const zk::AclEntry& entry) { return entry.scheme == "world"; }

}  // namespace

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

}  // namespace zkrecipes::zkr::doctor
