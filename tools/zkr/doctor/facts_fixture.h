// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_FIXTURE_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/facts.h"

namespace zkrecipes::zkr::doctor {

inline constexpr char kFirst[] = "_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000007";
inline constexpr char kSecond[] = "_c_2b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000008";

inline ContenderInfo Contending(int position, const std::string& node, std::int64_t session) {
  ContenderInfo c{.position = position, .holds = position == 0};
  c.token = FencingToken(100 + position);
  c.node_czxid = 100 + position;
  c.node = node;
  c.session = session;
  return c;
}

// The facts of three healthy servers with ZooKeeper's own defaults, and of a queue of two. A test
// changes the facts that it is about.
inline Facts Healthy() {
  Facts facts{.asked = absl::Seconds(10)};
  for (const char* name : {"zk1:2181", "zk2:2181", "zk3:2181"}) {
    facts.servers.push_back({.name = name,
                             .address = name,
                             .reachable = true,
                             .words = {"follower", absl::Seconds(2), 5},
                             .granted = absl::Seconds(10)});
  }
  facts.servers[1].words.mode = "leader";
  facts.servers[1].words.voters = 3;
  const Acl open = {{31, "world", "anyone"}};
  facts.path = PathFacts{.path = "/q", .exists = true, .listed = true, .acl = open};
  facts.path->stat = zk::Stat{.cversion = 16, .num_children = 2};  // nine creations
  facts.path->children = {{kFirst, open}, {kSecond, open}};
  facts.contenders = {Contending(0, kFirst, 7), Contending(1, kSecond, 8)};
  return facts;
}

// "server-unreachable zk1:2181".
inline std::vector<std::string> Summary(const Findings& findings) {
  std::vector<std::string> lines;
  for (const Finding& f : findings) lines.push_back(f.what + " " + f.about);
  return lines;
}

// A mess, or what looks like one: what is changed, one after another, and what the doctor finds.
using Change = std::function<void(Facts&)>;
struct Mess {
  template <typename... Changes>
  Mess(const char* w, std::vector<std::string> f, Changes... c)
      : what(w), found(std::move(f)), changes{c...} {}

  const char* what;
  std::vector<std::string> found;
  std::vector<Change> changes;
};

inline Change EachServer(const std::function<void(ServerFacts&)>& change) {
  return [change](Facts& f) { std::ranges::for_each(f.servers, change); };
}

inline void Try(const std::vector<Mess>& cases) {
  for (const Mess& c : cases) {
    Facts facts = Healthy();
    for (const Change& change : c.changes) change(facts);
    EXPECT_EQ(Summary(Diagnose(facts)), c.found) << c.what;
  }
}

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_FIXTURE_H_
