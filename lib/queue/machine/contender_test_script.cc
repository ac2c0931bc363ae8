// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/machine/contender_test_script.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <gtest/gtest.h>

#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::machine {
namespace {

int64_t CzxidOf(int32_t n) { return int64_t{1000} + n; }

testing::ScopedTrace Trace(Where where) { return {where.file, where.line, "said here"}; }

}  // namespace

// ---- events ------------------------------------------------------------------------------------

Script::~Script() { EXPECT_EQ(TextOf(unexpected_), "") << "at the end of the story"; }

Script& Script::On(Event event) {
  for (Action& action : machine_.On(std::move(event))) {
    if (const auto* send = std::get_if<action::Send>(&action)) {
      outstanding_.push_back(*send);
      last_request_ = send->request;
    }
    if (const auto* delay = std::get_if<action::StartDelayTimer>(&action)) delay_ = delay->op;
    if (const auto* look = std::get_if<action::StartCheckTimer>(&action)) {
      look_ = look->op;  // every wait has one: not worth a word in each story
      continue;
    }
    const bool unwatch = std::holds_alternative<action::Unwatch>(action);
    if (unwatch || std::holds_alternative<action::Send>(action)) ++requests_;
    unexpected_.push_back(std::move(action));
  }
  return *this;
}

Script& Script::Connected(zk::SessionId session) {
  session_ = session;
  return On(event::Connected{session, GuidOf(next_guid_++)});
}

Script& Script::LosesReplies(const Event& event) {
  for (const action::Send& send : outstanding_) stale_.push_back(send.op);
  outstanding_.clear();
  return On(event);
}

Script& Script::Deleted(const std::string& node) {
  return On(event::WatchFired{zk::JoinPath(parent_, node), zk::WatchEvent::kDeleted, proven_});
}

Script& Script::Changed(const std::string& node) {
  return On(event::WatchFired{zk::JoinPath(parent_, node), zk::WatchEvent::kChanged, proven_});
}

Script& Script::Set(const std::string& node) {
  return On(event::WatchFired{zk::JoinPath(parent_, node), zk::WatchEvent::kNodeData, proven_});
}

Script& Script::Reply(zk::Reply reply) {
  if (outstanding_.empty()) {
    ADD_FAILURE() << "nothing to reply to";
    return *this;
  }
  const OpId op = outstanding_.front().op;
  outstanding_.pop_front();
  stale_.push_back(op);
  return On(event::Replied{op, std::move(reply), proven_});
}

Script& Script::Created(int32_t n) { return CreatedFor(session_, n); }

Script& Script::CreatedFor(zk::SessionId owner, int32_t n) {
  zk::Reply reply;
  const auto* create =
      outstanding_.empty() ? nullptr : std::get_if<zk::Create>(&outstanding_.front().request);
  if (create != nullptr) reply.path = create->path;
  if (create != nullptr && create->mode == zk::CreateMode::kEphemeralSequential) {
    reply.path += absl::StrFormat("%010d", n);
  }
  reply.stat.czxid = CzxidOf(n);
  reply.stat.ephemeral_owner = owner;
  return Reply(reply);
}

Script& Script::Listed(const zk::Names& children) { return Reply({.children = children}); }

Script& Script::ListedTooEarly(const zk::Names& children) {
  stale_.push_back(outstanding_.back().op);
  outstanding_.pop_back();
  return On(event::Replied{stale_.back(), {.children = children}});
}

Script& Script::Got(zk::SessionId owner, int32_t n) {
  return Reply({.stat = {.czxid = CzxidOf(n), .ephemeral_owner = owner}});
}

Script& Script::Record(const std::string& data, int32_t version) {
  return Reply({.stat = {.version = version}, .data = data});
}

Script& Script::Fails(zk::Code code) { return Reply({.code = code}); }

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

// ---- beginnings --------------------------------------------------------------------------------

Script Joining(Where where) {
  Script script;
  script.Connected().Expect("create a, list", where);
  return script;
}

Script Joined(Where where) {
  Script script = Joining(where);
  script.Created(3).Expect("own timer", where);
  return script;
}

Script LostCreate(Where where) {
  Script script = Joining(where);
  script.Disconnected().ExpectNothing(where);
  return script;
}

Script Resolving(Where where) {
  Script script = LostCreate(where);
  script.Connected().Expect("barrier a, list", where);
  return script;
}

Script Found(Where where) {
  Script script = Resolving(where);
  script.Fails(zk::Code::kNoNode).Listed({Mine(3)}).Expect("get a3, list", where);
  return script;
}

Script Watching(const Candidacy& candidacy, Where where) {
  Script script(candidacy);
  script.Joins(3, {Other(1), Mine(3)});
  script.Expect("create a, list, own timer, watch other1", where);
  return script;
}

Script Waiting(const Candidacy& candidacy, Where where) {
  Script script = Watching(candidacy, where);
  script.Ok().ExpectNothing(where);
  return script;
}

Script Holding(Where where) {
  Script script = Joined(where);
  script.Listed({Mine(3)}).Expect("granted a3 token 1003 in 7", where);
  return script;
}

// ---- candidacies and names ---------------------------------------------------------------------

Candidacy At(const std::string& parent) { return {.data = "me", .parent = parent}; }
Candidacy Of(Mode mode) { return {.mode = mode, .data = "me", .parent = "/q"}; }
Candidacy Permit(uint16_t permits) {
  return {.mode = Mode::kPermit, .data = "me", .permits = permits, .parent = "/q"};
}
Candidacy Lock() { return At("/q"); }
Candidacy Try() { return {.data = "me", .try_only = true, .parent = "/q"}; }
Candidacy ProvenLock() { return {.data = "me", .parent = "/q", .wait_for_proof = true}; }
Candidacy LockWithDelay() { return {.lock_delay = absl::Seconds(1), .data = "me", .parent = "/q"}; }

Candidacy Upgrade() {
  Candidacy candidacy = Of(Mode::kSharedWriter);
  candidacy.follows = {FollowedNode(Mode::kShared), 7, 900};
  return candidacy;
}

Candidacy Downgrade() {
  Candidacy candidacy = Of(Mode::kShared);
  candidacy.follows = {FollowedNode(Mode::kSharedWriter), 7, 900};
  return candidacy;
}

std::string FollowedNode(Mode mode) { return MineOf(mode, 2, 'f'); }

std::string MineOf(Mode mode, int32_t n, char guid) {
  return absl::StrCat(NodePrefix(Dialect::kCurator, mode, GuidOf(guid)),
                      absl::StrFormat("%010d", n));
}

std::string Mine(int32_t n, char guid) { return MineOf(Mode::kExclusive, n, guid); }
std::string Other(int32_t n) { return Mine(n, kOthersGuid); }
std::string OtherOf(Mode mode, int32_t n) { return MineOf(mode, n, kOthersGuid); }

}  // namespace zkrecipes::queue::machine
