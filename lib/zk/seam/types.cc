// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/types.h"

#include <iterator>

namespace zkrecipes::zk::inline seam {
namespace {

// In the order of Request's alternatives.
constexpr const char* kNames[] = {
    "create",          "delete",         "set",     "get",  "get children", "watch",
    "watch existence", "remove watches", "get ACL", "multi"};
static_assert(std::size(kNames) == std::variant_size_v<Request>);

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

const char* OperationName(const Request& request) { return kNames[request.index()]; }

const std::string& PathOf(const Request& request) { return std::visit(Path(), request); }

const std::string& PathOf(const Multi::Op& op) { return std::visit(Path(), op); }

bool Fires(WatchEvent event, WatchKind kind) {
  switch (event) {
    // The server drops both kinds with the node.
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
