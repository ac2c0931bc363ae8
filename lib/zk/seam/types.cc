// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/types.h"

namespace zkrecipes::zk::inline seam {
namespace {

struct NameOf {
  const char* operator()(const Create&) const { return "create"; }
  const char* operator()(const Delete&) const { return "delete"; }
  const char* operator()(const SetData&) const { return "set"; }
  const char* operator()(const Get&) const { return "get"; }
  const char* operator()(const GetChildren&) const { return "get children"; }
  const char* operator()(const WatchNode&) const { return "watch"; }
  const char* operator()(const WatchExists&) const { return "watch existence"; }
  const char* operator()(const RemoveWatches&) const { return "remove watches"; }
  const char* operator()(const GetAcl&) const { return "get ACL"; }
  const char* operator()(const Multi&) const { return "multi"; }
};

struct Path {
  const std::string& operator()(const Multi& multi) const {
    static const std::string* const kNone = new std::string();
    return multi.ops.empty() ? *kNone : PathOf(multi.ops.front());
  }
  template <typename Single>
  const std::string& operator()(const Single& r) const {
    return r.path;
  }
};

}  // namespace

const char* OperationName(const Request& request) { return std::visit(NameOf(), request); }

const std::string& PathOf(const Request& request) { return std::visit(Path(), request); }

const std::string& PathOf(const Multi::Op& op) { return std::visit(Path(), op); }

bool Fires(WatchEvent event, WatchKind kind) {
  switch (event) {
    case WatchEvent::kDeleted:
      return true;
    case WatchEvent::kChanged:
      return kind == WatchKind::kNode;
    case WatchEvent::kNodeData:
      return kind == WatchKind::kExists;
  }
  return false;
}

}  // namespace zkrecipes::zk::inline seam
