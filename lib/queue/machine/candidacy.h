// SPDX-License-Identifier: Apache-2.0
//
// What a recipe asks of a queue (Candidacy), and what it gets (Grant).

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_CANDIDACY_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_CANDIDACY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine {

// The lease that an upgrade or a downgrade follows: see docs/adr/0017.
struct Followed {
  std::string node;  // its name; empty: none
  zk::SessionId session = 0;
  int64_t token = 0;

  friend bool operator==(const Followed&, const Followed&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Followed& f) {
    return H::combine(std::move(h), f.node, f.session, f.token);
  }
};

struct Candidacy {
  Mode mode = Mode::kExclusive;
  // Nonzero enables lock-delay mode: an exclusive contender keeps the record of the last holder;
  // and every one waits this long if that holder vanished without clearing it.
  absl::Duration lock_delay = absl::ZeroDuration();
  Followed follows = {};  // a reader's node of this session, or a writer's whose place is taken
  std::string data = {};  // of the node; Acquisition replaces "" by OwnerData of the process
  bool try_only = false;  // do not wait: look first, and leave again if not admitted at once
  std::optional<Mode> named_as = {};  // its node is named as this mode's; nullopt: as its own's
  bool beside_blind = false;  // do not refuse beside those that do not see its node: admission.h
  uint16_t permits = 0;       // kPermit: how many the semaphore has (permits.h); otherwise 0
  bool stays = false;         // a CachedLock's: its node may stay when nobody holds it

  // Filled in by Acquisition, from the path that the user gave and from the options.
  std::string parent = {};  // the recipe's path, as the server knows it
  Dialect dialect = Dialect::kCurator;
  bool wait_for_proof = false;  // granted only while the lease deadline lies in the future

  std::vector<zk::AclEntry> acl = {};  // of the nodes that it creates; empty: the client's

  Mode named() const { return named_as.value_or(mode); }
  bool delays() const { return lock_delay > absl::ZeroDuration(); }
  // Its lease is safe without a proof. After a reader nothing waits, so a delay promises it
  // nothing.
  bool rests_on_delay() const { return delays() && mode != Mode::kShared; }
  // A downgrade: its node has the number of the writer's that it follows.
  bool takes_place() const { return !follows.node.empty() && mode == Mode::kShared; }

  friend bool operator==(const Candidacy&, const Candidacy&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Candidacy& c) {
    return H::combine(std::move(h), c.mode, c.lock_delay, c.follows, c.data, c.try_only, c.named_as,
                      c.beside_blind, c.permits, c.stays, c.parent, c.dialect, c.wait_for_proof,
                      c.acl);
  }
};

// The head of the queue is reached. One struct all the way from the machine to the Lease.
struct Grant {
  int64_t token = 0;  // the node's czxid; a downgrade's: the token of the lease that it follows
  std::string node;   // full path, as the server knows it
  int64_t czxid = 0;  // the node's
  zk::SessionId session = 0;
  Mode mode = Mode::kExclusive;
  std::string data = {};  // the node's, as it was created
  int64_t epoch = 0;      // the session's; the machine knows of none, and its runner adds it
};

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_CANDIDACY_H_
