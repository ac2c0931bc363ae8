// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/contender_test_script.h"
#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::machine {
namespace {

// "a3", "other1", or the path itself if it is no contender's.
std::string Label(const std::string& path) {
  const auto name = ParseNodeName(zk::NodeName(path));
  if (!name) return path;
  const bool other = name->guid[0] == kOthersGuid;
  return absl::StrCat(other ? "other" : name->guid.substr(0, 1), name->sequence);
}

// The first letter of the guid in a node's prefix or in a barrier's name.
std::string GuidLetter(const std::string& path) {
  const std::string name(zk::NodeName(path));
  for (size_t at = 0; at + 32 <= name.size(); ++at) {
    if (name.substr(at, 32) == GuidOf(name[at])) return name.substr(at, 1);
  }
  return path;
}

struct RequestText {
  std::string operator()(const zk::Create& r) const {
    if (r.mode == zk::CreateMode::kContainer) return absl::StrCat("make ", r.path);
    if (r.mode == zk::CreateMode::kPersistent) return absl::StrCat("make record ", Label(r.data));
    if (r.mode == zk::CreateMode::kEphemeral) return absl::StrCat("take place ", Label(r.path));
    return absl::StrCat("create ", GuidLetter(r.path));
  }
  std::string operator()(const zk::Delete& r) const {
    if (absl::StrContains(r.path, "barrier")) return absl::StrCat("barrier ", GuidLetter(r.path));
    return absl::StrCat("delete ", Label(r.path));
  }
  std::string operator()(const zk::Multi& r) const {
    return absl::StrCat("multi of ", r.ops.size());
  }
  std::string operator()(const zk::SetData& r) const {
    if (r.version < 0) return absl::StrCat("let know by ", Label(r.path));
    if (zk::NodeName(r.path) != kRecordName) return absl::StrCat("number ", r.data);
    if (r.data.empty()) return absl::StrCat("clear record ", r.version);
    return absl::StrCat("record ", Label(r.data), " over ", r.version);
  }
  std::string operator()(const zk::Get& r) const {
    if (zk::NodeName(r.path) == kRecordName) return "get record";
    return absl::StrCat("get ", Label(r.path));
  }
  std::string operator()(const zk::GetChildren& r) const {
    return zk::NodeName(r.path) == kSemaphoreLeases ? "list leases" : "list";
  }
  std::string operator()(const zk::WatchNode& r) const {
    return absl::StrCat("watch ", Label(r.path));
  }
  std::string operator()(const zk::WatchExists& r) const {
    return absl::StrCat("watch existence ", Label(r.path));
  }
  std::string operator()(const zk::RemoveWatches& r) const {
    return absl::StrCat("remove watches ", r.path);
  }
  std::string operator()(const zk::GetAcl& r) const { return absl::StrCat("get ACL ", r.path); }
};

const char* TextOf(LeaseEnd why) {
  constexpr const char* kTexts[] = {"released", "lapsed",    "session", "node",
                                    "closed",   "not alive", "too long"};
  return kTexts[static_cast<int>(why)];
}

const char* TextOf(Outcome outcome) {
  constexpr const char* kTexts[] = {"none",          "left",          "busy",      "lost",
                                    "node deleted",  "refused",       "exhausted", "foreign owner",
                                    "followed lost", "writer queued", "blind",     "other number"};
  return kTexts[static_cast<int>(outcome)];
}

struct ActionText {
  std::string operator()(const action::Send& a) const {
    return std::visit(RequestText(), a.request);
  }
  std::string operator()(const action::Unwatch& a) const {
    return absl::StrCat("unwatch ", Label(a.path));
  }
  std::string operator()(const action::StartRetryTimer&) const { return "retry timer"; }
  std::string operator()(const action::StartOwnWatchTimer&) const { return "own timer"; }
  std::string operator()(const action::StartCheckTimer&) const { return "look timer"; }
  std::string operator()(const action::StartDelayTimer&) const { return "delay timer"; }
  std::string operator()(const Grant& a) const {
    return absl::StrCat("granted ", Label(a.node), " token ", a.token, " in ", a.session);
  }
  std::string operator()(const action::LeaseLost& a) const {
    return absl::StrCat("lost: ", TextOf(a.why));
  }
  std::string operator()(const action::LeaveRefused& a) const {
    return absl::StrCat("cannot ", a.what, " ", Label(a.path), ": ", zk::CodeName(a.code));
  }
  std::string operator()(const action::Finished& a) const {
    const std::string text =
        absl::StrCat("finished: ", TextOf(a.outcome), a.unconfirmed ? ", unconfirmed" : "");
    if (a.outcome != Outcome::kRefused) return text;
    return absl::StrCat(text, " ", a.what, " ", Label(a.path), " ", zk::CodeName(a.code));
  }
};

}  // namespace

std::string TextOf(const Actions& actions) {
  return absl::StrJoin(actions, ", ", [](std::string* out, const Action& action) {
    out->append(std::visit(ActionText(), action));
  });
}

}  // namespace zkrecipes::queue::machine
