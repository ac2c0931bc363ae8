// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/types.h"

namespace zkrecipes::zk {
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
};

}  // namespace

const char* OperationName(const Request& request) { return std::visit(NameOf(), request); }

const std::string& PathOf(const Request& request) {
  return std::visit([](const auto& r) -> const std::string& { return r.path; }, request);
}

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

}  // namespace zkrecipes::zk
