// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/contender_script.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include <gtest/gtest.h>

#include "lib/zk/path.h"

namespace zkrecipes::queue {
namespace {

constexpr char kOthersGuid = '0';

std::string GuidOf(char letter) { return std::string(32, letter); }
int64_t CzxidOf(int32_t n) { return int64_t{1000} + n; }

// ---- actions as texts --------------------------------------------------------------------------

// "a3", "other1", or the path itself if it is no contender's.
std::string Label(const std::string& path) {
  const auto name = ParseNodeName(zk::NodeName(path));
  if (!name) return path;
  const bool other = name->guid[0] == kOthersGuid;
  return absl::StrCat(other ? "other" : name->guid.substr(0, 1), name->sequence);
}

// The first letter of the guid in a node's prefix or in a barrier's name.
std::string GuidLetter(const std::string& path) {
  const std::string name = zk::NodeName(path);
  for (size_t at = 0; at + 32 <= name.size(); ++at) {
    if (name.substr(at, 32) == GuidOf(name[at])) return name.substr(at, 1);
  }
  return path;
}

struct RequestText {
  std::string operator()(const zk::Create& r) const {
    if (r.mode == zk::CreateMode::kContainer) return absl::StrCat("make ", r.path);
    return absl::StrCat("create ", GuidLetter(r.path));
  }
  std::string operator()(const zk::Delete& r) const {
    if (absl::StrContains(r.path, "barrier")) return absl::StrCat("barrier ", GuidLetter(r.path));
    return absl::StrCat("delete ", Label(r.path));
  }
  std::string operator()(const zk::Get& r) const { return absl::StrCat("get ", Label(r.path)); }
  std::string operator()(const zk::GetChildren&) const { return "list"; }
  std::string operator()(const zk::WatchNode& r) const {
    return absl::StrCat("watch ", Label(r.path));
  }
  std::string operator()(const zk::RemoveWatches& r) const {
    return absl::StrCat("remove watches ", r.path);
  }
};

const char* TextOf(LossReason why) {
  switch (why) {
    case LossReason::kSessionLost:
      return "session";
    case LossReason::kNodeDeleted:
      return "node";
    case LossReason::kLapsed:
      return "lapsed";
  }
  return "";
}

const char* TextOf(Outcome outcome) {
  constexpr const char* kTexts[] = {"none",         "left",    "busy",      "lost",
                                    "node deleted", "refused", "exhausted", "foreign owner"};
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
  std::string operator()(const action::Granted& a) const {
    return absl::StrCat("granted ", Label(a.node), " token ", a.token, " in ", a.session);
  }
  std::string operator()(const action::LeaseLost& a) const {
    return absl::StrCat("lost: ", TextOf(a.why));
  }
  std::string operator()(const action::PlaceLost&) const { return "place lost"; }
  std::string operator()(const action::LeaveRefused& a) const {
    return absl::StrCat("cannot ", a.what, " ", Label(a.path), ": ", zk::CodeName(a.code));
  }
  std::string operator()(const action::Finished& a) const {
    const std::string text = absl::StrCat("finished: ", TextOf(a.outcome));
    if (a.outcome != Outcome::kRefused) return text;
    return absl::StrCat(text, " ", a.what, " ", Label(a.path), " ", zk::CodeName(a.code));
  }
};

std::string TextOf(const Actions& actions) {
  return absl::StrJoin(actions, ", ", [](std::string* out, const Action& action) {
    out->append(std::visit(ActionText(), action));
  });
}

testing::ScopedTrace Trace(Where where) { return {where.file, where.line, "said here"}; }

}  // namespace

// ---- events ------------------------------------------------------------------------------------

Script::~Script() { EXPECT_EQ(TextOf(unexpected_), "") << "at the end of the story"; }

Script& Script::On(const Event& event) {
  for (Action& action : machine_.On(event)) {
    if (const auto* send = std::get_if<action::Send>(&action)) {
      outstanding_.push_back(*send);
      last_request_ = send->request;
    }
    const bool unwatch = std::holds_alternative<action::Unwatch>(action);
    if (unwatch || std::holds_alternative<action::Send>(action)) ++requests_;
    unexpected_.push_back(std::move(action));
  }
  return *this;
}

Script& Script::Up(zk::SessionId session) {
  session_ = session;
  return On(event::Connected{session, GuidOf(next_guid_++)});
}

Script& Script::Down() {
  for (const action::Send& send : outstanding_) stale_.push_back(send.op);
  outstanding_.clear();
  return On(event::Disconnected{});
}

Script& Script::Lost() {
  for (const action::Send& send : outstanding_) stale_.push_back(send.op);
  outstanding_.clear();
  return On(event::SessionLost{});
}

Script& Script::Deleted(const std::string& node) {
  return On(event::WatchFired{zk::JoinPath(parent_, node), zk::WatchEvent::kDeleted});
}

Script& Script::Changed(const std::string& node) {
  return On(event::WatchFired{zk::JoinPath(parent_, node), zk::WatchEvent::kChanged});
}

Script& Script::Reply(zk::Reply reply) {
  if (outstanding_.empty()) {
    ADD_FAILURE() << "nothing to reply to";
    return *this;
  }
  const OpId op = outstanding_.front().op;
  outstanding_.pop_front();
  stale_.push_back(op);
  return On(event::Replied{op, std::move(reply)});
}

Script& Script::Created(int32_t n) { return CreatedFor(session_, n); }

Script& Script::CreatedFor(zk::SessionId owner, int32_t n) {
  zk::Reply reply;
  if (!outstanding_.empty()) reply.path = zk::PathOf(outstanding_.front().request);
  reply.path += absl::StrFormat("%010d", n);
  reply.stat.czxid = CzxidOf(n);
  reply.stat.ephemeral_owner = owner;
  return Reply(reply);
}

Script& Script::Listed(const std::vector<std::string>& children) {
  zk::Reply reply;
  reply.children = children;
  return Reply(reply);
}

Script& Script::ListedTooEarly(const std::vector<std::string>& children) {
  zk::Reply reply;
  reply.children = children;
  stale_.push_back(outstanding_.back().op);
  outstanding_.pop_back();
  return On(event::Replied{stale_.back(), std::move(reply)});
}

Script& Script::Got(zk::SessionId owner, int32_t n) {
  zk::Reply reply;
  reply.stat.czxid = CzxidOf(n);
  reply.stat.ephemeral_owner = owner;
  return Reply(reply);
}

Script& Script::Fails(zk::Code code) {
  zk::Reply reply;
  reply.code = code;
  return Reply(reply);
}

// ---- expectations ------------------------------------------------------------------------------

Script& Script::Expect(const std::string& actions, Where where) {
  const testing::ScopedTrace trace = Trace(where);
  EXPECT_EQ(TextOf(std::exchange(unexpected_, {})), actions);
  return *this;
}

Script& Script::ExpectNothing(Where where) { return Expect("", where); }

Script& Script::ExpectDeafToStaleReplies(Where where) {
  const testing::ScopedTrace trace = Trace(where);
  const Contender before = machine_;
  for (const OpId op : stale_) {
    zk::Reply listing;
    listing.path = zk::JoinPath(parent_, Mine(3));
    listing.children = {Mine(3)};
    listing.stat = {CzxidOf(3), session_, 0, 0, 0};
    for (const zk::Code code : {zk::Code::kOk, zk::Code::kNoNode, zk::Code::kConnectionLoss}) {
      listing.code = code;
      EXPECT_EQ(TextOf(machine_.On(event::Replied{op, listing})), "") << "op " << op;
    }
  }
  EXPECT_TRUE(machine_ == before);
  return *this;
}

Script& Script::ExpectState(Contender::State state, Where where) {
  const testing::ScopedTrace trace = Trace(where);
  EXPECT_EQ(static_cast<int>(machine_.state()), static_cast<int>(state));
  return *this;
}

// ---- specs and names ---------------------------------------------------------------------------

ContenderSpec Lock() { return At("/q"); }

ContenderSpec At(const std::string& parent) {
  ContenderSpec spec;
  spec.parent = parent;
  spec.data = "me";
  return spec;
}

ContenderSpec Try() {
  ContenderSpec spec = Lock();
  spec.try_only = true;
  return spec;
}

ContenderSpec Of(Mode mode) {
  ContenderSpec spec = Lock();
  spec.mode = mode;
  return spec;
}

std::string Mine(int32_t n, char guid) {
  return absl::StrCat(NodePrefix(Dialect::kCurator, Mode::kExclusive, GuidOf(guid)),
                      absl::StrFormat("%010d", n));
}

std::string Other(int32_t n) { return Mine(n, kOthersGuid); }

std::string OtherOf(Mode mode, int32_t n) {
  return absl::StrCat(NodePrefix(Dialect::kCurator, mode, GuidOf(kOthersGuid)),
                      absl::StrFormat("%010d", n));
}

}  // namespace zkrecipes::queue
