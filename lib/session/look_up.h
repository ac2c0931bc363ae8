// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_LOOK_UP_H_
#define ZKRECIPES_LIB_SESSION_LOOK_UP_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "lib/zk/seam/server_list.h"
#include "lib/zk/seam/servers.h"

namespace zkrecipes::session {

// The answers to one look-up of a list of servers. A pure value.
class LookUp {
 public:
  LookUp() = default;
  explicit LookUp(const std::vector<zk::ServerAddress>& servers) : missing_(servers.size()) {
    for (const zk::ServerAddress& server : servers) {
      listed_.push_back({zk::NameOf(server), {}, "not answered yet"});
    }
  }

  // Once for each server of the list, in any order.
  void Add(const zk::ListedServer& answer) {
    --missing_;
    for (zk::ListedServer& server : listed_) {
      if (server.name == answer.name) server = answer;
    }
  }

  bool complete() const { return missing_ == 0; }
  // There is a server that can be tried: the others are looked up again in the next round.
  bool useful() const {
    return std::ranges::any_of(listed_, [](const auto& s) { return !s.addresses.empty(); });
  }
  // A name may exist, and was not resolved.
  bool unsure() const {
    return std::ranges::any_of(listed_,
                               [](const auto& s) { return s.addresses.empty() && s.exists; });
  }
  const std::vector<zk::ListedServer>& listed() const { return listed_; }  // as in the list
  // Unavailable, with what became of each name.
  absl::Status Failure() const {
    const auto failure = [](std::string* out, const zk::ListedServer& server) {
      absl::StrAppend(out, server.name, ": ", server.error);
    };
    return absl::UnavailableError(absl::StrCat("no server's name could be resolved (",
                                               absl::StrJoin(listed_, "; ", failure), ")"));
  }

 private:
  std::vector<zk::ListedServer> listed_;
  size_t missing_ = 0;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_LOOK_UP_H_
