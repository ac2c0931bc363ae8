// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/node_data.h"

#include <limits.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

#include "lib/queue/machine/permits.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::listing {
namespace {

using nlohmann::json;

// Each candidate puts both into its own node, and each waiter that gives up reads the head's.
constexpr size_t kMaxIdBytes = 512;
constexpr size_t kMaxValueBytes = 64 * 1024;

// At the end of the data, so that all before it stays as it was written.
constexpr char kMark[] = ",\"write\":\"";
constexpr size_t kMarkSize = sizeof(kMark) - 1 + 16 + 2;  // sixteen digits, and "}

bool ShownAsRawId(machine::Dialect dialect, machine::Mode mode) {
  return dialect == machine::Dialect::kKazoo || mode == machine::Mode::kLeader;
}

// Keeps the members of one object. What a stranger nests in them, or around them, is not built: the
// library takes milliseconds to build and to destroy what 4 kB of brackets say.
bool MembersOnly(int depth, json::parse_event_t event, const json& /*parsed*/) {
  using Event = json::parse_event_t;
  if (depth == 0) return event == Event::object_start || event == Event::object_end;
  return depth == 1 && (event == Event::key || event == Event::value);
}

// The id of a candidate, or of a member, is shown as it is, also if it happens to be JSON.
json Parse(machine::Mode mode, const std::string& data) {
  if (mode == machine::Mode::kLeader || mode == machine::Mode::kMember) return nullptr;
  return json::parse(data, MembersOnly, /*allow_exceptions=*/false);
}

std::string JsonOf(const OwnerInfo& owner, std::optional<int64_t> token) {
  json data = {{"host", owner.host}, {"pid", owner.pid}};
  if (!owner.id.empty()) data["id"] = owner.id;
  if (token.has_value()) data["token"] = *token;
  return data.dump(-1, ' ', false, json::error_handler_t::replace);
}

// `object`: JSON of one that has members.
std::string WithMember(std::string object, absl::string_view member) {
  object.pop_back();
  return absl::StrCat(object, ",", member, "}");
}

}  // namespace

std::string OwnerData(machine::Dialect dialect, machine::Mode mode, const OwnerInfo& owner,
                      std::optional<int64_t> token) {
  if (ShownAsRawId(dialect, mode) && !token.has_value()) {
    return owner.id.empty() ? absl::StrCat(owner.host, ":", owner.pid) : owner.id;
  }
  return JsonOf(owner, token);
}

std::string ThisOwnersData(machine::Dialect dialect, machine::Mode mode, const std::string& id,
                           std::optional<int64_t> token) {
  if (ShownAsRawId(dialect, mode) || token.has_value()) {
    return OwnerData(dialect, mode, ThisOwner(id), token);
  }
  // Every acquire asks, and mostly for the same owner: building the text takes a tenth of an
  // acquire.
  struct Last {
    std::string id;
    pid_t pid;
    std::string text;
  };
  thread_local std::optional<Last> last;
  if (!last.has_value() || last->id != id || last->pid != getpid()) {
    last = {id, getpid(), JsonOf(ThisOwner(id), std::nullopt)};
  }
  return last->text;
}

std::string DefaultId(const std::string& owner_id) {
  return ThisOwnersData(machine::Dialect::kCurator, machine::Mode::kLeader, owner_id);
}

OwnerInfo ParseOwner(machine::Mode mode, const std::string& data) {
  const json parsed = Parse(mode, data);
  OwnerInfo owner;
  if (!parsed.is_object()) {
    owner.id = data.substr(0, data.find('\n'));
    return owner;
  }
  const auto text = [&parsed](const char* key) {
    const auto it = parsed.find(key);
    return it != parsed.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  owner.id = text("id");
  owner.host = text("host");
  const auto pid = parsed.find("pid");
  if (pid != parsed.end() && pid->is_number_integer()) owner.pid = pid->get<int64_t>();
  return owner;
}

std::optional<int64_t> TokenIn(machine::Mode mode, const std::string& data) {
  if (mode != machine::Mode::kShared)
    return std::nullopt;  // only a downgraded writer's node carries one
  const json parsed = Parse(mode, data);
  if (!parsed.is_object()) return std::nullopt;
  const auto token = parsed.find("token");
  if (token == parsed.end() || !token->is_number_integer()) return std::nullopt;
  return token->get<int64_t>();
}

// The mark replaces an older one in place, so the data does not grow with each write. What is there
// before it stays byte by byte, whoever wrote it.
std::optional<std::string> WithMark(machine::Dialect dialect, machine::Mode mode,
                                    const std::string& data, uint64_t mark) {
  if (ShownAsRawId(dialect, mode) && !TokenIn(mode, data).has_value()) return std::nullopt;
  const json parsed = Parse(mode, data);
  if (!parsed.is_object() || parsed.empty() || data.back() != '}') return std::nullopt;
  size_t size = data.size() - 1;
  if (data.size() > kMarkSize && data.rfind(kMark) == data.size() - kMarkSize) {
    size = data.size() - kMarkSize;
  }
  return absl::StrCat(data.substr(0, size), kMark, absl::Hex(mark, absl::kZeroPad16), "\"}");
}

OwnerInfo ThisOwner(const std::string& id) {
  char host[HOST_NAME_MAX + 1] = "";
  gethostname(host, sizeof(host) - 1);
  OwnerInfo owner;
  owner.id = id;
  owner.host = host;
  owner.pid = getpid();
  return owner;
}

std::string PermitData(std::string owner_data, size_t permits) {
  return WithMember(std::move(owner_data), absl::StrCat("\"permits\":", permits));
}

size_t PermitsIn(const std::string& data) {
  const json parsed = Parse(machine::Mode::kPermit, data);
  if (!parsed.is_object()) return 0;
  const auto permits = parsed.find("permits");
  if (permits == parsed.end() || !permits->is_number_unsigned()) return 0;
  const size_t number = permits->get<size_t>();
  return number > machine::kMostPermits ? 0 : number;  // a stranger's would hold for ever
}

std::string StayingData(machine::Dialect dialect, machine::Mode mode, std::string owner_data) {
  if (ShownAsRawId(dialect, mode)) return owner_data;
  return WithMember(std::move(owner_data), "\"stays\":true");
}

bool Stays(machine::Mode mode, const std::string& data) {
  const json parsed = Parse(mode, data);
  if (!parsed.is_object()) return false;
  const auto stays = parsed.find("stays");
  return stays != parsed.end() && stays->is_boolean() && stays->get<bool>();
}

// ---- Candidates ---------------------------------------------------------------------------------

absl::Status CheckCandidate(const Candidate& candidate, const char* whose) {
  const std::string& id = candidate.id;
  const char* rule = nullptr;
  if (id.find_first_of("\r\n") != std::string::npos) rule = "must have no line break";
  if (!zk::IsUtf8(id)) rule = "must be valid UTF-8";
  if (id.size() > kMaxIdBytes) rule = "must be at most 512 bytes long";
  if (rule == nullptr) return CheckValue(candidate.value, whose);
  return absl::InvalidArgumentError(
      absl::StrCat(whose, " id \"", absl::Utf8SafeCEscape(id.substr(0, 80)), "\": ", rule));
}

absl::Status CheckValue(const std::string& value, const char* whose) {
  if (value.size() <= kMaxValueBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(whose, " value of ", value.size(), " bytes: must be at most 64 KiB"));
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
