// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/paragraph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::zkr::doctor {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kIndent = 10;  // of the sentences

}  // namespace

std::string Paragraph(const std::string& label, const std::string& text) {
  std::string out;
  std::string line = label + std::string(kIndent - std::min(kIndent, label.size()), ' ');
  bool empty = true;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!empty && line.size() + 1 + word.size() > kWidth) {
      absl::StrAppend(&out, line, "\n");
      line = std::string(kIndent, ' ');
      empty = true;
    }
    absl::StrAppend(&line, empty ? "" : " ", word);
    empty = false;
  }
  return absl::StrCat(out, line, "\n");
}

}  // namespace zkrecipes::zkr::doctor
