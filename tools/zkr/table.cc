// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/table.h"

#include <algorithm>

namespace zkr {
namespace {

std::string Printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return text;
}

// In characters of UTF-8, as good as columns for the names of hosts and owners.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string FormatTable(const std::vector<TableRow>& rows) {
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows[0].size());
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const TableRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += Printable(row[i]);
      const bool last = i + 1 == row.size();
      text += last ? "\n" : std::string(widths[i] - Width(row[i]) + 2, ' ');
    }
  }
  return text;
}

}  // namespace zkr
