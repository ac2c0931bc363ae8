// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/sequencer.h"

#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "lib/zk/path.h"

namespace zkrecipes {
namespace {
constexpr char kVersion[] = "zkr1";
}  // namespace

std::string Sequencer::path() const { return node.empty() ? "" : zk::ParentPath(node); }

std::string Sequencer::ToString() const {
  return absl::StrCat(kVersion, ":", mode, ":", token.value(), ":", node);
}

absl::StatusOr<Sequencer> Sequencer::Parse(const std::string& text) {
  const auto bad = [&text](const char* rule) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequencer \"", absl::Utf8SafeCEscape(text), "\": ", rule));
  };
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 3));
  if (parts.size() != 4 || parts[0] != kVersion) return bad("must be zkr1:MODE:TOKEN:NODE");
  if (parts[1] != "exclusive" && parts[1] != "shared" && parts[1] != "leader") {
    return bad("its mode must be exclusive, shared or leader");
  }
  int64_t token = 0;
  if (!absl::SimpleAtoi(parts[2], &token) || token <= 0 || parts[2] != absl::StrCat(token)) {
    return bad("its token must be a positive number");
  }
  if (absl::Status path = zk::ValidatePath("node of a sequencer", parts[3]); !path.ok()) {
    return path;
  }
  return Sequencer{parts[1], FencingToken(token), parts[3]};
}

}  // namespace zkrecipes
