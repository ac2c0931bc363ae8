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

TEST(Table, ShowsNoControlCharacters) { EXPECT_EQ(FormatTable({{"a\x1b[31m\nb"}}), "a?[31m?b\n"); }

}  // namespace
}  // namespace zkrecipes::zkr
