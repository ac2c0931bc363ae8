// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_TABLE_H_
#define ZKRECIPES_TOOLS_ZKR_TABLE_H_

#include <string>
#include <vector>

namespace zkr {

// Text in columns, for people.
using TableRow = std::vector<std::string>;

// A line for each row, the first being the titles. Columns are as wide as their widest text, two
// blanks apart; control characters, which others may have written, become '?'.
// REQUIRES: all rows are equally long.
std::string FormatTable(const std::vector<TableRow>& rows);

}  // namespace zkr

#endif  // ZKRECIPES_TOOLS_ZKR_TABLE_H_
