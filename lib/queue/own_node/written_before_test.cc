// SPDX-License-Identifier: Apache-2.0
//
// Names and sequencers as zkr 0.1.0 wrote them on a real server (24 November 2026), kept as they
// are, and data of nodes after what `zkr ls --json` said of it: processes of several versions are
// in one queue while a service is upgraded. A row that fails says that today's code no longer reads
// what runs out there. Rows are added, never changed. (The row with a short name is of the form
// that follows, and was not recorded.)

#include <optional>
#include <string>

#include "gtest/gtest.h"

#include "lib/queue/listing/node_data.h"
#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/node_name.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::queue::own_node {
namespace {

using enum machine::Dialect;
using enum machine::Mode;

struct Written {
  const char* name;
  const char* data;
  const char* sequencer;  // up to the name; or none
  machine::Dialect dialect;
  machine::Mode mode;
  int32_t number;
  OwnerInfo owner;
  std::optional<int64_t> token;  // where it is not the node's czxid
};

Written Row(const char* name, const char* data, const char* sequencer, machine::Dialect dialect,
            machine::Mode mode, int32_t number, const char* id, const char* host, int pid,
            std::optional<int64_t> token = std::nullopt) {
  return {name, data, sequencer, dialect, mode, number, {id, host, pid}, token};
}

const Written kWritten[] = {
    Row("_c_e68c6693-7dc1-444c-954e-2252204a1072-lock-0000000000", R"({"host":"vm","pid":6959})",
        "zkr1:exclusive:22:/c/a/", kCurator, kExclusive, 0, "", "vm", 6959),
    Row("_c_039f07c4-e556-4c38-84be-a7fe4c3c473c-__READ__0000000000", R"({"host":"vm","pid":6961})",
        "zkr1:shared:17:/c/r/", kCurator, kShared, 0, "", "vm", 6961),
    Row("_c_6fa3ada0-8483-4d7d-a62c-cb1bb8e4813b-__WRIT__0000000000", R"({"host":"vm","pid":6963})",
        "zkr1:exclusive:20:/c/w/", kCurator, kSharedWriter, 0, "", "vm", 6963),
    Row("0db8dfe0-8de2-4a83-a78e-2e3f542a8df4__lock__0000000000", "vm:6965",
        "zkr1:exclusive:14:/c/k/", kKazoo, kExclusive, 0, "vm:6965", "", 0),
    Row("_c_5ce39555-acd4-4414-ac76-8f232845b973-latch-0000000000", "me", nullptr, kCurator,
        kLeader, 0, "me", "", 0),
    // Of short names (ADR 41).
    Row("_c_0a1b2c3d4e5f6g7-lock-0000000003", R"({"host":"vm","pid":17})",
        "zkr1:exclusive:22:/c/a/", kCurator, kExclusive, 3, "", "vm", 17),
    // docs/znode_layout.md: an owner's id, a downgraded lease, a guarded write, a field of the
    // future.
    Row("_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000007",
        R"({"host":"db7","id":"backup","pid":4711})", nullptr, kCurator, kExclusive, 7, "backup",
        "db7", 4711),
    Row("_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-__READ__0000000008",
        R"({"host":"db7","pid":4711,"token":4294967302})", nullptr, kCurator, kShared, 8, "", "db7",
        4711, 4294967302),
    Row("_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000009",
        R"({"host":"db7","pid":4711,"write":"00f3000000000000"})", nullptr, kCurator, kExclusive, 9,
        "", "db7", 4711),
    Row("_c_1b4e28ba-2fa1-41d2-883f-0016d3cca427-lock-0000000010",
        R"({"host":"db7","pid":4711,"zone":"b","since":[1]})", nullptr, kCurator, kExclusive, 10,
        "", "db7", 4711),
};

TEST(WrittenBefore, IsReadByTodaysCode) {
  for (const Written& w : kWritten) {
    SCOPED_TRACE(w.name);
    const auto name = machine::ParseNodeName(w.name);
    ASSERT_TRUE(name);
    EXPECT_EQ(name->dialect, w.dialect);
    EXPECT_EQ(name->mode, w.mode);
    EXPECT_EQ(name->sequence, w.number);
    const OwnerInfo owner = listing::ParseOwner(w.mode, w.data);
    EXPECT_EQ(owner.id, w.owner.id);
    EXPECT_EQ(owner.host, w.owner.host);
    EXPECT_EQ(owner.pid, w.owner.pid);
    EXPECT_EQ(listing::TokenIn(w.mode, w.data), w.token);
    if (w.sequencer == nullptr) continue;
    const std::string text = std::string(w.sequencer) + w.name;
    const auto sequencer = Sequencer::Parse(text);
    ASSERT_TRUE(sequencer.ok()) << sequencer.status();
    EXPECT_EQ(sequencer->ToString(), text);
  }
}

// And today's code writes what they read: the same prefixes, so that old and new order one queue
// alike.
TEST(WrittenBefore, IsWhatTodaysCodeWrites) {
  for (const Written& w : kWritten) {
    SCOPED_TRACE(w.name);
    const auto name = machine::ParseNodeName(w.name);
    ASSERT_TRUE(name);
    const std::string prefix = std::string(w.name).substr(0, std::string(w.name).size() - 10);
    if (w.dialect == machine::Dialect::kCurator) {
      EXPECT_EQ(machine::NodePrefix(w.dialect, w.mode, name->guid), prefix);
    }
    if (w.token || std::string(w.data).find("write") != std::string::npos) continue;
    if (std::string(w.data).find("zone") != std::string::npos) continue;
    if (w.owner.host.empty()) continue;
    EXPECT_EQ(listing::OwnerData(w.dialect, w.mode, w.owner), w.data);
  }
}

TEST(WrittenBefore, QueuesWithTodaysNodes) {
  const std::string mine =
      machine::NodePrefix(machine::Dialect::kCurator, machine::Mode::kExclusive,
                          "2b4e28ba-2fa1-41d2-883f-0016d3cca427") +
      "0000000011";
  EXPECT_EQ(machine::HeadOf({mine, kWritten[6].name}), kWritten[6].name);
  EXPECT_TRUE(machine::TailMustWait({kWritten[0].name}, machine::Mode::kExclusive));
}

}  // namespace
}  // namespace zkrecipes::queue::own_node
