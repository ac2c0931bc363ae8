// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEADER_H_
#define ZKRECIPES_LEADER_H_

#include <cstdint>
#include <string>

#include "zkrecipes/contenders.h"
#include "zkrecipes/fencing_token.h"

namespace zkrecipes {

// What a candidate publishes in its node; readable by all clients that the ACL admits.
struct Candidate {
  // Empty: ClientOptions::owner_id, or else "host:pid". No line breaks, UTF-8, at most 512 bytes.
  std::string id = {};
  // An address, say. Any bytes, at most 64 KiB.
  std::string value = {};
};

// The first in an election's queue: from before its own process knows it until its session is seen
// to have expired. Only the candidate's own lease says whether it still believes it leads.
struct Leader {
  OwnerInfo owner;     // owner.id: the candidate's
  std::string value;   // as it was proclaimed last
  FencingToken token;  // of its lease: the term
  std::string node;    // its name, below the path
  int64_t session = 0;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEADER_H_
