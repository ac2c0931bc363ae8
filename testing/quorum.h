// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_QUORUM_H_
#define ZKRECIPES_TESTING_QUORUM_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace zkrecipes::testing {

enum class ServerMode { kNoAnswer, kNotServing, kStandalone, kLeader, kFollower };

// Asks the server at "host:port" with `srvr`. Blocks up to `timeout`.
ServerMode AskMode(const std::string& address, absl::Duration timeout);

std::string ToString(ServerMode mode);  // "no answer", "not serving", "standalone", ...

// All members of one ensemble at about the same time.
struct QuorumView {
  std::vector<ServerMode> modes;

  int leaders() const;      // members that lead or stand alone
  int serving() const;      // these and the followers
  int LeaderIndex() const;  // the one that leads; -1 if there is none or there are several
  // The first member that does not serve, or else 0.
  int FirstNotServing() const;
  bool HasQuorum() const;  // one leader, and a majority serves
  bool AllServe() const;
  std::string Describe() const;  // "0: leader, 1: follower, 2: no answer"
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_QUORUM_H_
