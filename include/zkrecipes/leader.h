// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LEADER_H_
#define ZKRECIPES_LEADER_H_

#include <cstdint>
#include <string>

#include "zkrecipes/contenders.h"
#include "zkrecipes/fencing_token.h"

namespace zkrecipes {

// What a candidate says of itself in its node, for everybody who may read it.
struct Candidate {
  // Empty: ClientOptions::owner_id, or else "host:pid". No line breaks, UTF-8, at most 512 bytes.
  std::string id = {};
  // An address, say. Any bytes, at most 64 KiB.
  std::string value = {};
};

// The first in an election's queue. Before its own process knows of it, and until its session is seen
// to have ended: whether it believes to lead at this moment only its lease can tell.
struct Leader {
  OwnerInfo owner;     // owner.id: the candidate's
  std::string value;   // as it was proclaimed last
  FencingToken token;  // of its lease: the term
  std::string node;    // its name, below the path
  int64_t session = 0;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_LEADER_H_
