// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of contenders and candidates say: their names and data as users see them.

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_NODE_DATA_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_NODE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "lib/queue/machine/node_name.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/leader.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::queue::listing {

// A contender's mode as users see it: both kinds of writers are exclusive, and those who hold
// together share.
inline GrantMode GrantModeOf(machine::Mode mode) {
  switch (mode) {
    case machine::Mode::kExclusive:
    case machine::Mode::kSharedWriter:
      return GrantMode::kExclusive;
    case machine::Mode::kLeader:
      return GrantMode::kLeader;
    case machine::Mode::kShared:
    case machine::Mode::kPermit:
    case machine::Mode::kMember:
      break;
  }
  return GrantMode::kShared;
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

// A leader's or member's id is the first line, whatever it contains (the rest is its value, or
// data). Other data that is not such JSON is also taken for a raw id.
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

// The id of a candidate, or of a member, that has none of its own.
std::string DefaultId(const std::string& owner_id);

// The data of a semaphore's contender: its owner's, with the number of permits that it came with,
// so that who lists the queue knows how many hold.
std::string PermitData(std::string owner_data, size_t permits);
size_t PermitsIn(const std::string& data);  // 0: it says none that there may be

// The data of a CachedLock's contender: its owner's, and that its node may stay while none of the
// owner's threads holds the lock. As it is where it is shown as a raw id.
std::string StayingData(machine::Dialect dialect, machine::Mode mode, std::string owner_data);
bool Stays(machine::Mode mode, const std::string& data);

// ---- Candidates ---------------------------------------------------------------------------------
// The data of a candidate's node: its id alone, or "id\nvalue". Other libraries show it as a raw
// id.

// InvalidArgument names the rule that is broken. REQUIRES: `id` already has its default. `whose`:
// for messages.
absl::Status CheckCandidate(const Candidate& candidate, const char* whose = "candidate's");
absl::Status CheckValue(const std::string& value, const char* whose = "leader's");

std::string CandidateData(absl::string_view id, absl::string_view value);
// Accepts any data: the first line break separates id and value.
Candidate ParseCandidate(const std::string& data);

Leader DescribeLeader(const machine::ListedNode& node);

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_NODE_DATA_H_
