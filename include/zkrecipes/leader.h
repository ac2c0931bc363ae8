// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEADER_H_
#define ZKRECIPES_LEADER_H_

#include <cstdint>
#include <string>

#include "zkrecipes/contenders.h"
#include "zkrecipes/fencing_token.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// A candidate publishes this in its node. Every client that the ACL admits can read it.
struct Candidate {
  // If empty: ClientOptions::owner_id, or else "host:pid". No line breaks, UTF-8, at most 512
  // bytes.
  std::string id = {};
  // For example, an address. Any bytes, at most 64 KiB.
  std::string value = {};
};

// The candidate at the head of an election's queue. It is reported from before its own process
// knows that it leads, until its node is gone. Only the candidate's own lease says whether it still
// believes that it leads.
struct Leader {
  OwnerInfo owner;     // owner.id is the candidate's id
  std::string value;   // as last proclaimed
  FencingToken token;  // of its lease: the term
  std::string node;    // its name, relative to the path
  int64_t session = 0;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEADER_H_
