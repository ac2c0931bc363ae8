// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_PARTITIONS_FIXTURE_H_
#define ZKRECIPES_TOOLS_ZKR_PARTITIONS_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "recipes/machine/partition_plan.h"
#include "tools/zkr/partitions.h"

namespace zkrecipes::zkr {

inline const std::vector<std::string>& SharedNames() {
  static const auto* const names = new std::vector<std::string>{"0", "2", "10"};
  return *names;
}
inline std::string List() { return recipes::machine::ListOf(SharedNames()); }

inline ContenderInfo Owning(const std::string& id, const std::string& host, std::int64_t pid,
                            std::int64_t token, std::int64_t session = 7) {
  ContenderInfo c{.holds = true, .owner = {id, host, pid}};
  c.token = FencingToken(token);
  c.node_czxid = token;
  c.node = absl::StrFormat("_c_7k2m9qz4x1v8b3n-lock-%010d", token);
  c.session = session;
  c.since = absl::FromUnixSeconds(7);
  return c;
}

inline queue::machine::ListedNode MemberNode(const std::string& id, std::int64_t session,
                                             std::int64_t czxid, int weight = 1) {
  queue::machine::ListedNode node;
  node.name = absl::StrFormat("_c_7k2m9qz4x1v8b3n-member-%010d", czxid);
  node.data = absl::StrCat(id, "\n", recipes::machine::MemberData(SharedNames(), weight));
  node.stat.czxid = czxid;
  node.stat.ephemeral_owner = session;
  node.stat.ctime_ms = 7000;
  return node;
}

// Two members and one that is away; of three partitions one is owned by nobody.
inline PartitionsRead Shared() {
  PartitionsRead read;
  read.members = {MemberNode("web-1", 7, 200), MemberNode("web-2", 8, 201, 2)};
  const std::string data = recipes::machine::MemberData(SharedNames(), 1);
  read.homes = {recipes::machine::HomeName(data, "web-1"),
                recipes::machine::HomeName(data, "web-3")};
  read.partitions = {
      {"10", std::vector<ContenderInfo>()},
      {"0", std::vector{Owning("web-1", "db7", 4711, 100), Owning("web-2", "db8", 12, 103, 8)}},
      {"2", std::vector{Owning("web-2", "db8", 12, 101, 8)}}};
  return read;
}

}  // namespace zkrecipes::zkr

#endif  // ZKRECIPES_TOOLS_ZKR_PARTITIONS_FIXTURE_H_
