// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_OWNER_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_OWNER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "lib/queue/machine/node_name.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::queue::listing {

// A contender's mode as users see it: both kinds of writers are exclusive.
inline GrantMode GrantModeOf(machine::Mode mode) {
  if (mode == machine::Mode::kShared) return GrantMode::kShared;
  return mode == machine::Mode::kLeader ? GrantMode::kLeader : GrantMode::kExclusive;
}

// The mode whose contenders' nodes are named so.
inline machine::Mode ModeNamed(NodeMarker marker) {
  if (marker == NodeMarker::kWriter) return machine::Mode::kSharedWriter;
  return marker == NodeMarker::kLatch ? machine::Mode::kLeader : machine::Mode::kExclusive;
}

// The data of a contender node: which process is waiting. JSON for Curator's lock nodes, whose data
// Curator does not read: {"id":...,"host":...,"pid":...}. If the dialect's own tools show the data
// as a raw id (kazoo, and Curator's latch): the id, or "host:pid" if there is none. With a token
// that is not the node's czxid: always JSON, with "token".
std::string OwnerData(machine::Dialect dialect, machine::Mode mode, const OwnerInfo& owner,
                      std::optional<int64_t> token = std::nullopt);

// A leader's id is the first line, whatever it contains (the rest is its value). Other data that is
// not such JSON is also taken for a raw id.
OwnerInfo ParseOwner(machine::Mode mode, const std::string& data);
// nullopt: the token is the node's czxid.
std::optional<int64_t> TokenIn(machine::Mode mode, const std::string& data);

// `data` with a member "write" that no other data of the node has, in place of the one that it may
// have: by that a guarded write is known again. nullopt if there is no room for one: what is shown
// as a raw id, and what is not such JSON.
std::optional<std::string> WithMark(machine::Dialect dialect, machine::Mode mode,
                                    const std::string& data, uint64_t mark);

// This process, with `id`.
OwnerInfo ThisOwner(const std::string& id);
// OwnerData of it. What it says of this machine may be as old as the first call with this `id` on
// the thread.
std::string ThisOwnersData(machine::Dialect dialect, machine::Mode mode, const std::string& id,
                           std::optional<int64_t> token = std::nullopt);

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_OWNER_H_
