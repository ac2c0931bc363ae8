// SPDX-License-Identifier: Apache-2.0
//
// A fact of ZooKeeper that no client can do anything about, and that only a fencing token survives:
// a member can go on showing what was never committed. docs/adr/0021 tells how, step by step.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

#include "integration/fixtures/raw_client.h"
#include "integration/servers/command.h"
#include "verification/faults/faults_fixture.h"

namespace zkrecipes::faults {
namespace {

using integration::RawSession;
using servers::RunIn;

constexpr int kOk = 0;
constexpr int kNoNode = -101;
constexpr absl::Duration kLongest = absl::Minutes(1);
constexpr char kCutsItsLog[] = "Truncating log to get in sync with the leader";

class DirtySnapshotTest : public FaultsTest {
 protected:
  static int LeadInVain();

 private:
  // Elections go on, but no member can follow it.
  static void LetFollow(int leader, bool may) {
    const std::string& net = servers().host(leader).network_namespace;
    const std::string port = absl::StrCat(local()->QuorumPort(leader));
    const std::string change = may ? "-D" : "-A";
    for (const auto& [chain, end] : {std::pair("INPUT", "--dport"), {"OUTPUT", "--sport"}}) {
      const absl::Status changed =
          RunIn(net, {"iptables", "-w", change, chain, "-p", "tcp", end, port, "-j", "DROP"});
      EXPECT_TRUE(changed.ok()) << changed;
    }
  }
  static void Cut(int a, int b) {
    EXPECT_TRUE(network().Drop(servers().host(a), servers().host(b)).ok());
    EXPECT_TRUE(network().Drop(servers().host(b), servers().host(a)).ok());
  }
  static void Mend(int i) { EXPECT_TRUE(network().Mend(servers().host(i)).ok()); }
  static int Count(int i, const std::string& in_log) {
    return static_cast<int>(std::vector<std::string>(absl::StrSplit(LogOf(i), in_log)).size()) - 1;
  }
};

// The story of the ADR. Returns the leader; -1: it came out otherwise, as it does if the leader has
// stepped down before the proposal.
int DirtySnapshotTest::LeadInVain() {
  const int leader = AwaitNewLeader(-1);
  const int one = (leader + 1) % 3;
  const int other = (leader + 2) % 3;
  // Its end would be a transaction of the next leader, which would then send everything anew.
  RawSession session(servers().server(leader), kLongest);
  EXPECT_TRUE(session.answered());
  const int snapshots = Count(leader, "Snapshotting: ");
  const int cuts = Count(leader, kCutsItsLog);

  Cut(one, other);  // so that they need the leader
  LetFollow(leader, false);
  EXPECT_NE(session.Create("/phantom"), kOk);  // proposed, and never committed
  EXPECT_TRUE(Eventually([&] { return Count(leader, "Snapshotting: ") > snapshots; }));

  Mend(one);
  Cut(leader, one);
  Cut(leader, other);
  EXPECT_GE(AwaitNewLeader(leader), 0);

  Mend(leader);
  LetFollow(leader, true);
  EXPECT_TRUE(servers().WaitForAll(absl::Minutes(1)).ok());
  return Count(leader, kCutsItsLog) > cuts ? leader : -1;
}

TEST_F(DirtySnapshotTest, AMemberMayShowWhatWasNeverCommitted) {
  if (local() == nullptr) GTEST_SKIP() << "needs the members' files";
  int dirty = -1;
  for (int i = 0; i < 4 && dirty < 0; ++i) dirty = LeadInVain();
  ASSERT_GE(dirty, 0);
  for (int i = 0; i < servers().size(); ++i) {
    EXPECT_EQ(RawSession(servers().server(i)).Exists("/phantom"), i == dirty ? kOk : kNoNode);
  }
}

}  // namespace
}  // namespace zkrecipes::faults
