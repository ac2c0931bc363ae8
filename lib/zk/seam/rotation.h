// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_SEAM_ROTATION_H_
#define ZKRECIPES_LIB_ZK_SEAM_ROTATION_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "lib/zk/seam/servers.h"

namespace zkrecipes::zk::inline seam {

// Whose turn it is: the servers of a handle, one attempt to connect after another, in a list that may
// be replaced meanwhile. A pure value.
class Rotation {
 public:
  // REQUIRES of both: `servers` is not empty.
  explicit Rotation(NumericServers servers, size_t first = 0)
      : servers_(std::move(servers)), next_(first % servers_.size()) {}
  void Replace(NumericServers servers) {
    servers_ = std::move(servers);
    next_ = 0;
  }

  // The server of the next attempt.
  const std::string& Next() {
    current_ = servers_[next_];
    next_ = (next_ + 1) % servers_.size();
    return current_;
  }
  const std::string& current() const { return current_; }  // of the latest one; "" before the first
  bool Has(const std::string& server) const {
    return std::find(servers_.begin(), servers_.end(), server) != servers_.end();
  }
  int size() const { return static_cast<int>(servers_.size()); }

 private:
  NumericServers servers_;
  size_t next_;
  std::string current_;
};

}  // namespace zkrecipes::zk::inline seam

#endif  // ZKRECIPES_LIB_ZK_SEAM_ROTATION_H_
