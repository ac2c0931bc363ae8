// SPDX-License-Identifier: Apache-2.0

#include "testing/memory/tree.h"

#include <algorithm>

#include "lib/zk/seam/path.h"

namespace zkrecipes::testing::memory {

bool IsFormatted(const std::string& path) {
  return path.size() > 1 && path.front() == '/' && path.back() != '/' &&
         path.find("//") == std::string::npos;
}

zk::Stat StatOf(const Node& node) {
  zk::Stat stat;
  stat.czxid = node.czxid;
  stat.ephemeral_owner = node.owner;
  stat.ctime_ms = node.ctime_ms;
  stat.version = node.version;
  // In unsigned arithmetic: it wraps, as Java's does.
  stat.cversion = static_cast<int32_t>(2u * static_cast<uint32_t>(node.cversion) -
                                       static_cast<uint32_t>(node.children));
  stat.num_children = node.children;
  return stat;
}

const Node* Tree::Find(const std::string& path) const {
  const auto it = nodes_.find(path);
  return it == nodes_.end() ? nullptr : &it->second;
}

std::vector<std::string> Tree::Children(const std::string& path) const {
  const std::string prefix = path == "/" ? path : path + "/";
  std::vector<std::string> names;
  for (auto it = nodes_.upper_bound(prefix); it != nodes_.end(); ++it) {
    if (it->first.compare(0, prefix.size(), prefix) != 0) break;
    if (it->first.find('/', prefix.size()) != std::string::npos) continue;
    names.push_back(it->first.substr(prefix.size()));
  }
  return names;
}

std::vector<std::string> Tree::OwnedBy(zk::SessionId session) const {
  std::vector<std::string> paths;
  for (const auto& [path, node] : nodes_) {
    if (node.owner == session) paths.push_back(path);
  }
  return paths;
}

void Tree::Create(const std::string& path, const Node& node, int32_t parent_cversion) {
  Node& parent = nodes_.at(zk::ParentPath(path));
  ++parent.children;
  if (parent_cversion > parent.cversion) {
    parent.cversion = parent_cversion;
    parent.pzxid = node.czxid;
  }
  nodes_.emplace(path, node);
}

void Tree::SetData(const std::string& path, const std::string& data, int64_t zxid) {
  Node& node = nodes_.at(path);
  node.data = data;
  node.mzxid = zxid;
  ++node.version;
}

void Tree::Delete(const std::string& path, int64_t zxid) {
  Node& parent = nodes_.at(zk::ParentPath(path));
  --parent.children;
  parent.pzxid = std::max(parent.pzxid, zxid);
  nodes_.erase(path);
}

}  // namespace zkrecipes::testing::memory
