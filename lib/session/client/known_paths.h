// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_CLIENT_KNOWN_PATHS_H_
#define ZKRECIPES_LIB_SESSION_CLIENT_KNOWN_PATHS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "lib/base/boot_time.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::session::client {

// What a client has found out about paths. Forgotten when they are too many. A value, not
// thread-safe.
class KnownPaths {
 public:
  static constexpr size_t kMost = 10'000;  // of each kind

  // Paths of which the ACL has been looked at.
  bool HasCheckedParent(const std::string& path) const { return checked_parents_.contains(path); }
  void CheckedParent(const std::string& path) {
    // Forgetting costs a read and perhaps a second report.
    if (checked_parents_.size() >= kMost) checked_parents_.clear();
    checked_parents_.insert(path);
  }

  // A record of lock-delay mode, as one write has left it.
  struct Record {
    zk::SessionId line = 0;  // Session::line: in another the servers may have been set back
    int64_t czxid = 0;
    int32_t version = 0;
    std::string holder = {};  // that it names: servers that were set back repeat the numbers
    friend bool operator==(const Record&, const Record&) = default;
  };
  // Since when it is known that the holder which `record` names has vanished: `now` if that was not
  // heard before. `parent`: on the server.
  base::BootTime DelayBegan(const std::string& parent, Record record, base::BootTime now) {
    std::pair key(parent, record.line);
    const auto known = delays_.find(key);
    if (known != delays_.end() && known->second.first == record) return known->second.second;
    // Forgetting begins a delay anew, which is only late.
    if (known == delays_.end() && delays_.size() >= kMost) delays_.clear();
    // Perhaps another holder has been granted since, and has vanished, too.
    delays_.insert_or_assign(std::move(key), std::pair(std::move(record), now));
    return now;
  }

 private:
  absl::flat_hash_set<std::string> checked_parents_;
  absl::flat_hash_map<std::pair<std::string, zk::SessionId>, std::pair<Record, base::BootTime>>
      delays_;  // by parent, and line of sessions: several may take turns
};

}  // namespace zkrecipes::session::client

#endif  // ZKRECIPES_LIB_SESSION_CLIENT_KNOWN_PATHS_H_
