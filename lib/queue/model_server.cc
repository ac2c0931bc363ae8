// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/model_server.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "lib/zk/path.h"

namespace zkrecipes::queue {

using zk::Code;

namespace {

zk::Reply Failure(Code code) {
  zk::Reply reply;
  reply.code = code;
  return reply;
}

}  // namespace

class ModelServer::Executor {
 public:
  Executor(ModelServer& server, zk::SessionId session) : s_(server), session_(session) {}

  zk::Reply operator()(const zk::Create& r) {
    ++s_.zxid_;
    const auto parent = s_.tree_.find(zk::ParentPath(r.path));
    if (parent == s_.tree_.end()) return Failure(Code::kNoNode);
    if (parent->second.owner != 0) return Failure(Code::kNoChildrenForEphemerals);
    Node node;
    node.czxid = s_.zxid_;
    zk::Reply reply;
    reply.path = r.path;
    if (r.mode == zk::CreateMode::kEphemeralSequential) {
      reply.path += absl::StrFormat("%010d", parent->second.next_sequence);
      node.owner = session_;
    }
    if (s_.tree_.count(reply.path) > 0) return Failure(Code::kNodeExists);
    node.is_container = r.mode == zk::CreateMode::kContainer;
    ++parent->second.next_sequence;
    s_.tree_[reply.path] = node;
    reply.stat.czxid = node.czxid;
    reply.stat.ephemeral_owner = node.owner;
    return reply;
  }

  zk::Reply operator()(const zk::Delete& r) {
    ++s_.zxid_;
    if (s_.tree_.count(r.path) == 0) return Failure(Code::kNoNode);
    if (!s_.Children(r.path).empty()) return Failure(Code::kNotEmpty);
    s_.Delete(r.path);
    return {};
  }

  zk::Reply operator()(const zk::Get& r) {
    const auto it = s_.tree_.find(r.path);
    if (it == s_.tree_.end()) return Failure(Code::kNoNode);
    zk::Reply reply;
    reply.stat.czxid = it->second.czxid;
    reply.stat.ephemeral_owner = it->second.owner;
    return reply;
  }

  zk::Reply operator()(const zk::GetChildren& r) {
    if (s_.tree_.count(r.path) == 0) return Failure(Code::kNoNode);
    zk::Reply reply;
    reply.children = s_.Children(r.path);
    return reply;
  }

  zk::Reply operator()(const zk::WatchNode& r) {
    return s_.Watch(session_, r.path) ? zk::Reply() : Failure(Code::kNoNode);
  }

  zk::Reply operator()(const zk::RemoveWatches& r) {
    const bool removed = s_.watches_.erase({r.path, session_}) > 0;
    return removed ? zk::Reply() : Failure(Code::kNoWatcher);
  }

 private:
  ModelServer& s_;
  const zk::SessionId session_;
};

zk::SessionId ModelServer::Open() {
  alive_.insert(++last_session_);
  return last_session_;
}

void ModelServer::Expire(zk::SessionId session) {
  alive_.erase(session);
  std::vector<std::string> owned;
  for (const auto& [path, node] : tree_) {
    if (node.owner == session) owned.push_back(path);
  }
  for (const std::string& path : owned) Delete(path);
  ForgetWatches(session);
}

zk::Reply ModelServer::Execute(zk::SessionId session, const zk::Request& request) {
  return std::visit(Executor(*this, session), request);
}

bool ModelServer::Delete(const std::string& path) {
  if (tree_.erase(path) == 0) return false;
  auto it = watches_.lower_bound({path, 0});
  while (it != watches_.end() && it->first == path) {
    fired_.push_back({it->second, path});
    it = watches_.erase(it);
  }
  return true;
}

void ModelServer::Reap() {
  std::vector<std::string> empty;
  for (const auto& [path, node] : tree_) {
    if (node.is_container && node.next_sequence > 0 && Children(path).empty()) {
      empty.push_back(path);
    }
  }
  for (const std::string& path : empty) Delete(path);
}

bool ModelServer::Watch(zk::SessionId session, const std::string& path) {
  if (tree_.count(path) == 0) return false;
  watches_.insert({path, session});
  return true;
}

void ModelServer::ForgetWatches(zk::SessionId session) {
  std::erase_if(watches_, [session](const auto& watch) { return watch.second == session; });
}

std::vector<std::string> ModelServer::Children(const std::string& parent) const {
  std::vector<std::string> children;
  for (const auto& [path, node] : tree_) {
    if (path != "/" && zk::ParentPath(path) == parent) children.push_back(zk::NodeName(path));
  }
  return children;
}

bool IsWrite(const zk::Request& request) {
  return std::holds_alternative<zk::Create>(request) || std::holds_alternative<zk::Delete>(request);
}

}  // namespace zkrecipes::queue
