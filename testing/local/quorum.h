// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_LOCAL_QUORUM_H_
#define ZKRECIPES_TESTING_LOCAL_QUORUM_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace zkrecipes::testing {

// Sends one of ZooKeeper's four letter words to "host:port" and returns the answer. Resolving a
// name may block longer than `timeout`. Errors: see LocalEnsemble::FourLetterWord.
absl::StatusOr<std::string> FourLetterWord(const std::string& address, const std::string& word,
                                           absl::Duration timeout);

enum class ServerMode { kNoAnswer, kNotServing, kStandalone, kLeader, kFollower };

// Asks the server at "host:port" with `srvr`. Blocks up to half a second.
ServerMode AskMode(const std::string& address);

bool Serves(ServerMode mode);           // leads, follows or stands alone
std::string ToString(ServerMode mode);  // "no answer", "not serving", "standalone", ...

// All members of one ensemble at about the same time.
struct QuorumView {
  std::vector<ServerMode> modes;

  absl::StatusOr<int> Leader() const;  // NotFound if none leads, or several
  // The first member that does not serve, or else 0.
  int FirstNotServing() const;
  bool HasQuorum() const;  // one leader, and a majority serves
  bool AllServe() const;
  std::string Describe() const;  // "0: leader, 1: follower, 2: no answer"
};

// Asks all of them, one after the other. Blocks up to half a second for each that does not answer.
QuorumView AskModes(const std::vector<std::string>& addresses);

// Calls `look` until what it sees `holds`, or it fails. DeadlineExceeded, with the last view, if it
// does not within `timeout`.
absl::Status WaitForView(const std::function<absl::StatusOr<QuorumView>()>& look,
                         bool (QuorumView::*holds)() const, absl::Duration timeout);

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_TESTING_LOCAL_QUORUM_H_
