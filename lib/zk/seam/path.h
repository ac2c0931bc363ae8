// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_PATH_H_
#define ZKRECIPES_LIB_ZK_SEAM_PATH_H_

#include <string>

#include "lib/base/path.h"

namespace zkrecipes::zk::inline seam {

using base::IsUtf8;
using base::JoinPath;
using base::kMaxPathBytes;
using base::NodeName;
using base::ParentPath;
using base::Printable;
using base::Quoted;
using base::ValidatePath;

// The part of the tree in which a client works. Not left to the C client's chroot, which frees
// memory twice and hides the true length of a path. Empty: the whole tree.
class Namespace {
 public:
  Namespace() = default;
  // REQUIRES: root is "" or a path that ValidatePath accepts.
  explicit Namespace(std::string root);

  // "/ns/a" for "/a".
  std::string ToServer(const std::string& path) const;
  // "/a" for "/ns/a". REQUIRES: the path lies in the namespace.
  std::string ToUser(std::string server_path) const;
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_PATH_H_
