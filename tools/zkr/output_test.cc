// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/output.h"

#include "gtest/gtest.h"

namespace zkrecipes::zkr {
namespace {

TEST(Table, AlignsColumnsWithoutTrailingBlanks) {
  EXPECT_EQ(FormatTable({{"POS", "OWNER", "NODE"}, {"0", "host-a:12", "x"}, {"1", "b", "y"}}),
            "POS  OWNER      NODE\n"
            "0    host-a:12  x\n"
            "1    b          y\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
  EXPECT_EQ(FormatTable({{"\xc3\xa9\xc3\xa9", "1"}, {"ab", "2"}}), "\xc3\xa9\xc3\xa9  1\nab  2\n");
}

TEST(Table, EscapesWhatCannotBeShown) {
  EXPECT_EQ(FormatTable({{"a\x1b[31m\nb"}}), "a\\x1b[31m\\x0ab\n");
  // No UTF-8: a lone byte, a cut character, too long a form, a surrogate, a control character.
  EXPECT_EQ(FormatTable({{"\xff"}, {"\xc3"}, {"\xc0\xaf"}, {"\xed\xa0\x80"}, {"\xc2\x9b"}}),
            "\\xff\n\\xc3\n\\xc0\\xaf\n\\xed\\xa0\\x80\n\\xc2\\x9b\n");
  EXPECT_EQ(FormatTable({{"\xf0\x9f\x98\x80"}}), "\xf0\x9f\x98\x80\n");
}

TEST(Table, CutsWhatIsTooLong) {
  const std::string table = FormatTable({{std::string(1 << 20, 'x'), "1"}, {"y", "2"}});
  EXPECT_LT(table.size(), 200u);
  EXPECT_EQ(table.substr(0, table.find('\n')), std::string(72, 'x') + "...  1");
}

TEST(LogJson, IsOneObjectOnOneLine) {
  EXPECT_EQ(LogJson(absl::UnixEpoch(), "a\n\"b\"\xff", "UNAVAILABLE"),
            "{\"time\":\"1970-01-01T00:00:00+00:00\",\"message\":\"a\\n\\\"b\\\"\ufffd\","
            "\"code\":\"UNAVAILABLE\"}\n");
  EXPECT_NE(LogJson(absl::UnixEpoch(), "a", "").find("\"code\":null"), std::string::npos);
}

}  // namespace
}  // namespace zkrecipes::zkr
