// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/seam/path.h"

#include <cassert>
#include <utility>

#include "absl/strings/match.h"

namespace zkrecipes::zk::inline seam {

Namespace::Namespace(std::string root) : root_(std::move(root)) {}

std::string Namespace::ToServer(const std::string& path) const {
  // The root of the namespace is written without a slash at its end.
  return path == "/" && !root_.empty() ? root_ : root_ + path;
}

std::string Namespace::ToUser(std::string server_path) const {
  assert(absl::StartsWith(server_path, root_));
  if (server_path == root_) return "/";
  server_path.erase(0, root_.size());
  return server_path;
}

}  // namespace zkrecipes::zk::inline seam
