// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_FIXTURE_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_FIXTURE_H_

#include <algorithm>
#include <string>
#include <vector>

#include "tools/zkr/doctor/facts.h"
#include "tools/zkr/doctor/finding.h"

namespace zkrecipes::zkr::doctor {

// The facts of three healthy servers with ZooKeeper's own defaults, and of a queue of two. A test
// changes the facts that it is about.
inline Facts Healthy() {
  Facts facts{.asked = absl::Seconds(10), .dialect = "curator"};
  for (const char* name : {"zk1:2181", "zk2:2181", "zk3:2181"}) {
    facts.servers.push_back(
        {.name = name,
         .address = name,
         .reachable = true,
         .words = {"3.8.0", "follower", absl::Seconds(2), 10, 5},
         .grants = Grants{absl::Seconds(10), absl::Seconds(4), absl::Seconds(40)}});
  }
  facts.servers[1].words.mode = "leader";
  return facts;
}

inline NodeFacts Contender(const std::string& name, std::int64_t session = 7) {
  return {.name = name,
          .stat = zk::Stat{.czxid = 9, .ephemeral_owner = session},
          .acl = {{{31, "world", "anyone"}}}};
}

inline constexpr char kFirst[] = "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000007";
inline constexpr char kSecond[] = "_c_2b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000008";
inline constexpr char kKazoos[] = "3b4e28ba2fa141d2883f0016d3cca427__lock__0000000009";
inline constexpr char kLeaders[] = "_c_4b4e28ba-2fa1-41d2-883f-0016d3cca427-latch-0000000010";

inline PathFacts HealthyQueue() {
  PathFacts path{.path = "/q", .exists = true, .listed = true};
  path.node = Contender("", /*session=*/0);
  path.node.stat->cversion = 16;  // nine creations, two children left
  path.node.stat->num_children = 2;
  path.queue = {Contender(kFirst), Contender(kSecond)};
  return path;
}

// "!server-unreachable zk1:2181", "acl-open /q": findings have a mark, notes have none.
inline std::vector<std::string> Summary(const Findings& findings) {
  std::vector<std::string> lines;
  for (const Finding& f : findings) {
    const std::string mark = f.kind == Finding::Kind::kFinding ? "!" : "";
    lines.push_back(mark + f.what + " " + f.about);
  }
  return lines;
}

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_FIXTURE_H_
