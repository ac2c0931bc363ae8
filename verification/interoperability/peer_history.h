// SPDX-License-Identifier: Apache-2.0
//
// From the lines of a peer to events for the judge: integration/interoperability/peer.h has the protocol.

#ifndef ZKRECIPES_VERIFICATION_INTEROPERABILITY_PEER_HISTORY_H_
#define ZKRECIPES_VERIFICATION_INTEROPERABILITY_PEER_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "integration/interoperability/peer.h"
#include "verification/checker/event.h"

namespace zkrecipes::integration {

// What to add to a peer's times, which are CLOCK_MONOTONIC's.
int64_t BootLessMonotonic();
// `words`: "grant TIME NODE TOKEN SESSION". Fails the test if they are not.
void ReadGrant(const std::vector<std::string>& words, history::Event& event);
// How many it has told of.
int64_t GrantsOf(const Peer& peer);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_VERIFICATION_INTEROPERABILITY_PEER_HISTORY_H_
