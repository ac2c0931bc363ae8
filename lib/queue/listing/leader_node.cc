// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/leader_node.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::listing {
namespace {

// Each candidate puts both into its own node, and each waiter that gives up reads the head's.
constexpr size_t kMaxIdBytes = 512;
constexpr size_t kMaxValueBytes = 64 * 1024;

}  // namespace

absl::Status CheckCandidate(const Candidate& candidate) {
  const std::string& id = candidate.id;
  const char* rule = nullptr;
  if (id.find_first_of("\r\n") != std::string::npos) rule = "must have no line break";
  if (!zk::IsUtf8(id)) rule = "must be valid UTF-8";
  if (id.size() > kMaxIdBytes) rule = "must be at most 512 bytes long";
  if (rule == nullptr) return CheckValue(candidate.value);
  return absl::InvalidArgumentError(
      absl::StrCat("candidate's id \"", absl::Utf8SafeCEscape(id.substr(0, 80)), "\": ", rule));
}

absl::Status CheckValue(const std::string& value) {
  if (value.size() <= kMaxValueBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("leader's value of ", value.size(), " bytes: must be at most 64 KiB"));
}

// The id is a line of its own, as Curator's LeaderLatch has it alone: its participants read the
// whole data as the id, so a candidate without a value looks like one of theirs.
std::string CandidateData(absl::string_view id, absl::string_view value) {
  return value.empty() ? std::string(id) : absl::StrCat(id, "\n", value);
}

// Data of another library has no line break, or is whatever a stranger wrote: all of it is the id.
Candidate ParseCandidate(const std::string& data) {
  const size_t end = data.find('\n');
  if (end == std::string::npos) return {data, ""};
  return {data.substr(0, end), data.substr(end + 1)};
}

// The term is the czxid, which no client can write.
Leader DescribeLeader(const machine::ListedNode& node) {
  Candidate candidate = ParseCandidate(node.data);
  Leader leader;
  leader.owner.id = std::move(candidate.id);
  leader.value = std::move(candidate.value);
  leader.token = FencingToken(node.stat.czxid);
  leader.node = node.name;
  leader.session = node.stat.ephemeral_owner;
  return leader;
}

}  // namespace zkrecipes::queue::listing
