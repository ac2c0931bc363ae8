// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/sequencer.h"

#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "lib/base/path.h"

namespace zkrecipes {
namespace {
constexpr char kVersion[] = "zkr1";

std::optional<GrantMode> ParseMode(const std::string& text) {
  for (const GrantMode mode : {GrantMode::kExclusive, GrantMode::kShared, GrantMode::kLeader}) {
    if (text == ToString(mode)) return mode;
  }
  return std::nullopt;
}
// The recipe's path may be as long as any path, and the node's name comes on top.
absl::Status CheckNode(const std::string& node) {
  constexpr size_t kMaxBytes = base::kMaxPathBytes + 1 + base::kMaxContenderNameBytes;
  absl::Status fit = base::ValidatePath("node of a sequencer", node, kMaxBytes);
  if (fit.ok()) fit = base::ValidatePath("path of a sequencer", base::ParentPath(node));
  return fit;
}

}  // namespace

std::string ToString(GrantMode mode) {
  switch (mode) {
    case GrantMode::kExclusive:
      break;
    case GrantMode::kShared:
      return "shared";
    case GrantMode::kLeader:
      return "leader";
  }
  return "exclusive";
}

std::ostream& operator<<(std::ostream& out, GrantMode mode) { return out << ToString(mode); }

std::string Sequencer::path() const { return node.empty() ? "" : base::ParentPath(node); }

std::string Sequencer::ToString() const {
  return absl::StrCat(kVersion, ":", zkrecipes::ToString(mode), ":", token.value(), ":", name_space,
                      name_space.empty() ? "" : "/", node);
}

absl::StatusOr<FencingToken> FencingToken::Parse(const std::string& text) {
  int64_t value = 0;
  // One text for each token: no sign and no leading zeros.
  if (absl::SimpleAtoi(text, &value) && value > 0 && text == absl::StrCat(value)) {
    return FencingToken(value);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("token ", base::Quoted(text), ": must be a positive number, in decimal"));
}

// Reads what strangers may send: it accepts only what ToString writes, so that equal sequencers are
// equal texts.
absl::StatusOr<Sequencer> Sequencer::Parse(const std::string& text) {
  const auto bad = [&text](const char* rule) {
    return absl::InvalidArgumentError(absl::StrCat("sequencer ", base::Quoted(text), ": ", rule));
  };
  // A path may contain colons, so only the first three separate.
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 3));
  if (parts.size() != 4 || parts[0] != kVersion) {
    return bad("must be zkr1:MODE:TOKEN:NODE");
  }
  // No path has an empty part, so this is where a namespace ends.
  const std::size_t end = parts[3].find("//");
  const std::string name_space = end == std::string::npos ? "" : parts[3].substr(0, end);
  const std::string node = end == std::string::npos ? parts[3] : parts[3].substr(end + 1);
  const std::optional<GrantMode> mode = ParseMode(parts[1]);
  if (!mode) return bad("its mode must be exclusive, shared or leader");
  const auto token = FencingToken::Parse(parts[2]);
  if (!token.ok()) return bad("its token must be a positive number");
  if (absl::Status fit = CheckNode(node); !fit.ok()) return fit;
  if (end != std::string::npos) {
    absl::Status path = base::ValidatePath("namespace of a sequencer", name_space);
    if (!path.ok()) return path;
  }
  return Sequencer{*mode, *token, node, name_space};
}

}  // namespace zkrecipes
