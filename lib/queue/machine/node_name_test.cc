// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/node_name.h"

#include <limits>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"
#include <gtest/gtest.h>

namespace zkrecipes::queue::machine {
namespace {

constexpr char kGuid[] = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";

// What the server makes of a sequential node's prefix.
std::string OnServer(const std::string& prefix, int32_t sequence) {
  return absl::StrCat(prefix, absl::StrFormat("%010d", sequence));
}

NodeName Curator(Mode mode, int32_t sequence) { return {Dialect::kCurator, mode, kGuid, sequence}; }

NodeName Kazoo(Mode mode, int32_t sequence) { return {Dialect::kKazoo, mode, kGuid, sequence}; }

TEST(NodeName, ReadsEveryCuratorName) {
  const std::string start = absl::StrCat("_c_", kGuid);
  EXPECT_EQ(ParseNodeName(start + "-lock-0000000007"), Curator(Mode::kExclusive, 7));
  EXPECT_EQ(ParseNodeName(start + "-__READ__0000000007"), Curator(Mode::kShared, 7));
  EXPECT_EQ(ParseNodeName(start + "-__WRIT__0000000007"), Curator(Mode::kSharedWriter, 7));
  EXPECT_EQ(ParseNodeName(start + "-latch-0000000007"), Curator(Mode::kLeader, 7));
}

TEST(NodeName, ReadsEveryKazooName) {
  const std::string start = kGuid;
  EXPECT_EQ(ParseNodeName(start + "__lock__0000000007"), Kazoo(Mode::kExclusive, 7));
  EXPECT_EQ(ParseNodeName(start + "__rlock__0000000007"), Kazoo(Mode::kShared, 7));
}

TEST(NodeName, ReadsAGuidWithoutDashesAsKazooAndGoWriteIt) {
  const std::string guid = "1b4e28ba2fa141d2883f0016d3cca427";
  EXPECT_EQ(ParseNodeName("_c_" + guid + "-lock-0000000012"),
            (NodeName{Dialect::kCurator, Mode::kExclusive, guid, 12}));
  EXPECT_EQ(ParseNodeName(guid + "__lock__0000000012"),
            (NodeName{Dialect::kKazoo, Mode::kExclusive, guid, 12}));
}

// So that the next change of our own names' length is no danger to a fleet of two versions.
TEST(NodeName, ReadsShortGuidsOfAnyLength) {
  for (const std::string& guid : {ToGuid(1, 2), std::string("01234567"), std::string(32, 'z'),
                                  std::string("lock0000000007latch")}) {
    EXPECT_EQ(ParseNodeName("_c_" + guid + "-lock-0000000012"),
              (NodeName{Dialect::kCurator, Mode::kExclusive, guid, 12}));
    EXPECT_EQ(ParseNodeName(guid + "__rlock__0000000012"),
              (NodeName{Dialect::kKazoo, Mode::kShared, guid, 12}));
  }
}

TEST(NodeName, WritesEveryCuratorPrefix) {
  EXPECT_EQ(NodePrefix(Dialect::kCurator, Mode::kExclusive, "g"), "_c_g-lock-");
  EXPECT_EQ(NodePrefix(Dialect::kCurator, Mode::kShared, "g"), "_c_g-__READ__");
  EXPECT_EQ(NodePrefix(Dialect::kCurator, Mode::kSharedWriter, "g"), "_c_g-__WRIT__");
  EXPECT_EQ(NodePrefix(Dialect::kCurator, Mode::kLeader, "g"), "_c_g-latch-");
}

TEST(NodeName, WritesEveryKazooPrefix) {
  EXPECT_EQ(NodePrefix(Dialect::kKazoo, Mode::kExclusive, "g"), "g__lock__");
  EXPECT_EQ(NodePrefix(Dialect::kKazoo, Mode::kShared, "g"), "g__rlock__");
  EXPECT_EQ(NodePrefix(Dialect::kKazoo, Mode::kSharedWriter, "g"), "g__lock__");
  EXPECT_EQ(NodePrefix(Dialect::kKazoo, Mode::kLeader, "g"), "g__lock__");
}

TEST(NodeName, ReadsASuffixThatOverflowedAsNegative) {
  const std::string start = absl::StrCat("_c_", kGuid, "-lock-");
  EXPECT_EQ(ParseNodeName(start + "-2147483648"),
            Curator(Mode::kExclusive, std::numeric_limits<int32_t>::min()));
  EXPECT_EQ(ParseNodeName(start + "-000000005"), Curator(Mode::kExclusive, -5));
  EXPECT_EQ(ParseNodeName(start + "2147483647"),
            Curator(Mode::kExclusive, std::numeric_limits<int32_t>::max()));
}

TEST(NodeName, IgnoresASuffixThatIsNoSignedInt32OfTenDigits) {
  const std::string start = absl::StrCat("_c_", kGuid, "-lock-");
  for (const char* suffix : {"2147483648", "-2147483649", "9999999999", "99999999999999999999",
                             "-9999999999", "+000000007", "000000000x", "0x00000007", "          7",
                             "000000007 ", "--00000007", "", "-", "----------", "7", "000000007"}) {
    EXPECT_EQ(ParseNodeName(start + suffix), std::nullopt) << suffix;
  }
}

// Other recipes' nodes, marks of the wrong dialect or repeated, a contender's own barrier.
TEST(NodeName, IgnoresForeignChildren) {
  for (const char* name : {"", "lock", "lock-0000000007", "latch-0000000007", "0000000007", "_c_",
                           "zkrecipes-barrier-x", "leases", "lock-", "__lock__0000000007", "config",
                           "n_0000000007", "\xff\xfe", "lease"}) {
    EXPECT_EQ(ParseNodeName(name), std::nullopt) << name;
  }
  for (const char* around_guid :
       {"$0-lock-0000000007", "_c_$0__lock__0000000007", "_c_$0-lock--lock-0000000007",
        "_c_$0-latch--lock-0000000007", "zkrecipes-barrier-$0"}) {
    EXPECT_EQ(ParseNodeName(absl::Substitute(around_guid, kGuid)), std::nullopt) << around_guid;
  }
}

TEST(NodeName, IgnoresANameWithoutAGuid) {
  for (const char* guid :
       {"", "g", "not-a-guid", "1b4e28ba-2fa1-41d2-883f-0016d3cca42",
        "1b4e28ba-2fa1-41d2-883f-0016d3cca4270", "1b4e28ba-2fa1-41d2-883f-0016d3cca42g",
        "1b4e28ba_2fa1_41d2_883f_0016d3cca427", "0123456", "012345678901234567890123456789012",
        "0123456789abcdX", "0123456789-abcd", "0123456789_abcd"}) {
    EXPECT_EQ(ParseNodeName(absl::StrCat("_c_", guid, "-lock-0000000007")), std::nullopt) << guid;
    EXPECT_EQ(ParseNodeName(absl::StrCat(guid, "__lock__0000000007")), std::nullopt) << guid;
  }
}

// The GUID is all that is random in a name. Each marker of every library begins and ends with a
// character that it cannot have, so none occurs by chance, across its ends either.
TEST(NodeName, WritesNoMarkerByChance) {
  const std::set<char> markers = {'-', '_'};
  for (const char* marker :
       {"-lock-", "-latch-", "-__READ__", "-__WRIT__", "__lock__", "__rlock__"}) {
    EXPECT_TRUE(markers.contains(marker[0]) && markers.contains(*std::string(marker).rbegin()));
  }
  std::set<char> seen;
  std::mt19937_64 random(4);
  for (int i = 0; i < 1000; ++i) {
    const std::string guid = ToGuid(random(), random());
    EXPECT_EQ(guid.size(), kGuidBytes);
    seen.insert(guid.begin(), guid.end());
  }
  EXPECT_EQ(std::string(seen.begin(), seen.end()), "0123456789abcdefghjkmnpqrstvwxyz");
}

TEST(NodeName, HasAllOfItsRandomBits) {
  std::set<std::string> guids = {ToGuid(0, 0)};
  for (int bit = 0; bit < 60; ++bit)
    EXPECT_TRUE(guids.insert(ToGuid(uint64_t{1} << bit, 0)).second);
  for (int bit = 0; bit < 15; ++bit)
    EXPECT_TRUE(guids.insert(ToGuid(0, uint64_t{1} << bit)).second);
}

// ---- properties --------------------------------------------------------------------------------

std::string RandomGuid(std::mt19937_64& random) {
  if (random() % 2 == 0) return ToGuid(random(), random());
  return absl::StrFormat("%08x-%04x-4%03x-8%03x-%012x", random() & 0xffffffff, random() & 0xffff,
                         random() & 0xfff, random() & 0xfff, random() & 0xffffffffffff);
}

// A kazoo "__lock__" does not say which recipe wrote it.
Mode AsRead(Dialect dialect, Mode mode) {
  return dialect == Dialect::kKazoo && mode != Mode::kShared ? Mode::kExclusive : mode;
}

TEST(NodeName, ReadsWhatItWrites) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const auto dialect = static_cast<Dialect>(random() % 2);
    const auto mode = static_cast<Mode>(random() % 4);
    const std::string guid = RandomGuid(random);
    const auto sequence = static_cast<int32_t>(random());
    const std::string name = OnServer(NodePrefix(dialect, mode, guid), sequence);
    EXPECT_EQ(ParseNodeName(name), (NodeName{dialect, AsRead(dialect, mode), guid, sequence}))
        << name;
  }
}

// Whatever is read must be written the same, so that no two names mean one contender.
TEST(NodeName, NeverTakesADamagedNameForAnotherContender) {
  std::mt19937_64 random(2);
  const std::string alphabet = "0123456789abcdef-_clokrLATCHREADWI \xff";
  for (int i = 0; i < 50000; ++i) {
    const auto mode = static_cast<Mode>(random() % 4);
    std::string name =
        OnServer(NodePrefix(static_cast<Dialect>(random() % 2), mode, RandomGuid(random)),
                 static_cast<int32_t>(random() % 1000));
    for (uint64_t damage = 1 + random() % 3; damage > 0; --damage) {
      const size_t at = random() % name.size();
      const char c = alphabet[random() % alphabet.size()];
      random() % 2 == 0 ? name.replace(at, 1, 1, c) : name.insert(at, 1, c);
    }
    if (const auto parsed = ParseNodeName(name)) {
      EXPECT_EQ(OnServer(NodePrefix(parsed->dialect, parsed->mode, parsed->guid), parsed->sequence),
                name);
    }
  }
}

TEST(NodeName, SurvivesGarbage) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string name(random() % 80, '\0');
    for (char& c : name) c = static_cast<char>(random());
    EXPECT_EQ(ParseNodeName(name), std::nullopt);
  }
}

TEST(ParseNodeName, RefusesANameThatIsLongerThanAnyLibraryMakes) {
  const std::string guid = "1b4e28ba-2fa1-41d2-883f-0016d3cca427";
  const std::string longest = "_c_" + guid + "-__READ__-2147483648";
  EXPECT_TRUE(ParseNodeName(longest).has_value());
  EXPECT_EQ(longest.size(), kLongestNodeName);
  EXPECT_FALSE(ParseNodeName("_c_-" + guid + "-lock-0000000001").has_value());
  EXPECT_FALSE(ParseNodeName(std::string(1000, '-') + guid + "__lock__0000000001").has_value());
}

}  // namespace
}  // namespace zkrecipes::queue::machine
