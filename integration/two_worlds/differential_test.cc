// SPDX-License-Identifier: Apache-2.0
//
// The same random requests to the model and to real servers: every answer and every watch event
// must be the same.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>

#include "integration/fixtures/ensemble_fixture.h"
#include "integration/two_worlds/side.h"

namespace zkrecipes::integration {
namespace {

constexpr size_t kSessions = 4;

// The first has no credentials, the last those of both others, which share only a part of what they
// make.
ZkSession::Options OptionsOf(size_t i) {
  if (i == 0) return {.timeout = absl::Seconds(30)};
  std::vector<std::string> credentials;
  if (i != 2) credentials.push_back("alice:secret");
  if (i != 1) credentials.push_back("bob:secret");
  return {.timeout = absl::Seconds(30),
          .credentials = credentials,
          .acl = {zk::AclEntry{31, "auth", ""}, zk::AclEntry{i == 1 ? 1 : 5, "world", "anyone"}}};
}

// The sessions of one world, and names for what differs between worlds.
template <typename Side>
class Half {
 public:
  using Make = std::function<std::unique_ptr<Side>(const ZkSession::Options&)>;

  Half(std::string root, Make make) : root_(std::move(root)), make_(std::move(make)) {
    for (size_t i = 0; i < kSessions; ++i) Open(i);
    sides_[0]->Do(zk::Create{root_, "", zk::CreateMode::kPersistent});
  }

  // `path` is below the root.
  std::string Do(size_t i, zk::Request request) {
    std::visit([this](auto& r) { this->MoveBelowRoot(r); }, request);
    const zk::Reply reply = sides_[i]->Do(request);
    if (reply.code == zk::Code::kOk && reply.stat.czxid > last_zxid_) {
      last_zxid_ = reply.stat.czxid;
      zxids_[last_zxid_] = zxids_.size();
    }
    return Text(reply);
  }
  // Returns once the events of all that happened before have come.
  void Barrier(size_t i) { sides_[i]->Do(zk::Delete{root_ + "/no such node"}); }
  // Since the last call, sorted: a reconnection may report them in any order.
  std::string Events(size_t i) {
    std::vector<std::string> events = sides_[i]->Events();
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(told_[i]));
    told_[i] += events.size();
    std::sort(events.begin(), events.end());
    return absl::StrReplaceAll(absl::StrJoin(events, ", "), {{root_, ""}});
  }
  void Break(size_t i) { sides_[i]->Break(); }
  void Restore(size_t i) { sides_[i]->Restore(); }
  void Open(size_t i) {
    sides_[i].reset();
    sides_[i] = make_(OptionsOf(i));
    told_[i] = 0;
    sessions_[sides_[i]->id()] = sessions_.size();
  }
  void Expire(size_t i) { sides_[i]->Expire(); }

 private:
  template <typename Single>
  void MoveBelowRoot(Single& r) const {
    r.path = root_ + r.path;
  }
  void MoveBelowRoot(zk::Multi& multi) const {
    for (zk::Multi::Op& op : multi.ops) std::visit([this](auto& r) { this->MoveBelowRoot(r); }, op);
  }
  std::string Text(const zk::Reply& reply) const {
    const auto zxid = zxids_.find(reply.stat.czxid);
    const auto owner = sessions_.find(reply.stat.ephemeral_owner);
    std::vector<std::string> children(reply.children.begin(), reply.children.end());
    std::sort(children.begin(), children.end());
    return absl::StrFormat(
        "%s %s #%d owner %d, cversion %d, children %d [%s] \"%s\" acl [%s] codes [%s]",
        zk::CodeName(reply.code), absl::StrReplaceAll(reply.path, {{root_, ""}}),
        zxid == zxids_.end() ? -1 : static_cast<int>(zxid->second),
        owner == sessions_.end() ? -1 : static_cast<int>(owner->second), reply.stat.cversion,
        reply.stat.num_children, absl::StrJoin(children, " "), reply.data,
        absl::StrJoin(reply.acl, " ",
                      [](std::string* out, const auto& e) {
                        absl::StrAppend(out, e.scheme, ":", e.id, ":", e.permissions);
                      }),
        absl::StrJoin(reply.codes, " ", [](std::string* out, zk::Code code) {
          absl::StrAppend(out, zk::CodeName(code));
        }));
  }

  const std::string root_;
  const Make make_;
  std::unique_ptr<Side> sides_[kSessions];
  size_t told_[kSessions] = {};
  int64_t last_zxid_ = 0;
  std::map<int64_t, size_t> zxids_;  // of nodes, in the order of their creation
  std::map<zk::SessionId, size_t> sessions_;
};

class Differential : public EnsembleTest {
 protected:
  void Play(uint64_t seed, int steps) {
    random_.seed(seed);
    testing::memory::Simulation simulation;
    const std::string root = absl::StrFormat("/differential-%016x", std::random_device()());
    model_.emplace(root,
                   [&](const auto& o) { return std::make_unique<MemorySide>(o, &simulation); });
    servers_.emplace(root, [](const auto& o) { return std::make_unique<ServerSide>(o); });
    for (int step = 0; step < steps && !HasFailure(); ++step) Step();
    servers_.reset();
    model_.reset();  // before its simulation
    if (HasFailure()) ADD_FAILURE() << "seed " << seed << ":\n" << absl::StrJoin(story_, "\n");
  }

 private:
  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  // Mostly of a recently made node, or a child of one.
  std::string Path() {
    static const std::vector<std::string> kPaths = {"/a", "/b", "/a/c", "/a//c", "/a/", ""};
    if (made_.empty() || Below(3) == 0) return kPaths[Below(kPaths.size())];
    const std::string& made = made_[made_.size() - 1 - Below(std::min<size_t>(made_.size(), 8))];
    return Below(5) > 0 ? made : made + (Below(2) == 0 ? "/c" : "/d");
  }

  zk::Multi::Op Operation() {
    switch (Below(4)) {
      case 0:
        return zk::Create{Path(), "data",
                          Below(3) == 0 ? zk::CreateMode::kEphemeral : zk::CreateMode::kPersistent};
      case 1:
        return zk::Delete{Path(), static_cast<int32_t>(Below(3)) - 1};
      default:
        return zk::SetData{Path(), absl::StrCat("data", Below(3)),
                           static_cast<int32_t>(Below(4)) - 1};
    }
  }
  zk::Multi Together() {
    zk::Multi multi;
    for (size_t n = 1 + Below(4); n > 0; --n) multi.ops.push_back(Operation());
    return multi;
  }

  zk::Request Request() {
    switch (Below(18)) {
      case 0:
      case 1:
        return zk::Create{Path(), "data",
                          Below(3) == 0 ? zk::CreateMode::kEphemeral : zk::CreateMode::kPersistent};
      case 2:
      case 3:
      case 4:
        return zk::Create{Path() + (Below(3) == 0 ? "/" : "/n-"), "",
                          zk::CreateMode::kEphemeralSequential};
      case 5:
        return zk::Delete{Path(), Below(2) == 0 ? -1 : 0};
      case 15:
      case 16:
      case 17:
        return Together();
      case 6:
        return zk::Get{Path()};
      case 7:
        return zk::GetChildren{Path()};
      case 11:
        return zk::SetData{Path(), absl::StrCat("data", Below(3)),
                           static_cast<int32_t>(Below(3)) - 1};
      case 8:
        return zk::RemoveWatches{Path(), static_cast<zk::WatchKind>(Below(2))};
      case 12:
      case 13:
        return zk::WatchExists{Path()};
      case 14:
        return zk::GetAcl{Path()};
      default:
        return zk::WatchNode{Path()};
    }
  }

  void Step() {
    const size_t i = Below(kSessions);
    const size_t what = Below(30);
    if (what == 0) {
      Both(absl::StrCat(i, " ends its session"), [i](auto& half) { half.Open(i); });
    } else if (what == 1) {
      Both(absl::StrCat(i, " expires"), [i](auto& half) {
        half.Expire(i);
        half.Open(i);
      });
    } else if (what == 2) {
      Both(absl::StrCat(i, " loses its connection"), [i](auto& half) { half.Break(i); });
      for (size_t n = Below(6); n > 0; --n) Ask((i + 1 + Below(kSessions - 1)) % kSessions, i);
      Both(absl::StrCat(i, " has a connection again"), [i](auto& half) { half.Restore(i); });
    } else {
      Ask(i, kSessions);
    }
    Compare(kSessions);
  }

  template <typename Act>
  void Both(std::string what, Act act) {
    story_.push_back(std::move(what));
    act(*model_);
    act(*servers_);
  }

  // One request of session `i`, while `broken` has no connection.
  void Ask(size_t i, size_t broken) {
    const zk::Request request = Request();
    story_.push_back(absl::StrCat(i, " ", zk::OperationName(request), " ", zk::PathOf(request)));
    const std::string expected = servers_->Do(i, request);
    story_.back() += ": " + expected;
    EXPECT_EQ(model_->Do(i, request), expected);
    if (std::holds_alternative<zk::Create>(request) && absl::StartsWith(expected, "ZOK ")) {
      made_.push_back(expected.substr(4, expected.find(' ', 4) - 4));
    }
    Compare(broken);
  }

  void Compare(size_t broken) {
    for (size_t i = 0; i < kSessions; ++i) {
      if (i == broken) continue;
      model_->Barrier(i);
      servers_->Barrier(i);
      const std::string events = servers_->Events(i);
      if (!events.empty()) story_.push_back(absl::StrCat("    ", i, " hears: ", events));
      EXPECT_EQ(model_->Events(i), events) << "of " << i;
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> story_;
  std::vector<std::string> made_;
  std::optional<Half<MemorySide>> model_;
  std::optional<Half<ServerSide>> servers_;
};

// ZKRECIPES_DIFFERENTIAL_SEEDS=1000 plays more than the ten that every run has time for.
TEST_F(Differential, TheModelAnswersRandomRequestsAsServersDo) {
  const char* const seeds = std::getenv("ZKRECIPES_DIFFERENTIAL_SEEDS");
  const uint64_t last = seeds != nullptr ? std::stoull(seeds) : 10;
  for (uint64_t seed = 1; seed <= last && !HasFailure(); ++seed) Play(seed, 100);
}

}  // namespace
}  // namespace zkrecipes::integration
