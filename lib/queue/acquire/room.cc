// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/acquire/room.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "lib/queue/machine/node_name.h"

namespace zkrecipes::queue::acquire {
namespace {

using session::PathBudget;

absl::Status NoRoom(const std::string& path, bool follows, bool apart) {
  if (apart && !follows) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "acquire ", path, ": nodes there cannot be deleted, so they need a session apart, and all ",
        session::client::Sessions::kMost,
        " sessions of this client are in use: use another client, which needs none apart once "
        "delete is granted there"));
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "acquire ", path, ": this client has too many contenders",
      follows ? " in the session of the lease to go on from" : "", " (", PathBudget::kLimit,
      " bytes of node or watch paths in ",
      follows ? "it" : absl::StrCat("each of ", session::client::Sessions::kMost, " sessions"),
      "): use another client, or shorter paths"));
}

// No session would have room, however many are opened.
absl::Status NeverRoom(const std::string& path, size_t permits) {
  return absl::ResourceExhaustedError(
      absl::StrCat("acquire ", path, ": a waiter may have to watch ", permits,
                   " nodes, and their paths take more than the ", PathBudget::kLimit,
                   " bytes that a session may have: use a shorter path, or fewer permits"));
}

}  // namespace

absl::StatusOr<Room> Room::Find(session::client::Sessions& sessions,
                                const machine::Candidacy& candidacy, const std::string& path) {
  const size_t node =
      candidacy.parent.size() + 1 + machine::NodeBytes(candidacy.dialect, candidacy.named());
  const size_t own_watch = node + PathBudget::kPerWatch;
  // Which node will be watched is not known yet: the longest name counts.
  const size_t one_watch =
      candidacy.parent.size() + 1 + machine::kLongestNodeName + PathBudget::kPerWatch;
  // A semaphore's first waiter watches all that hold.
  const size_t predecessor_watch = one_watch * std::max<size_t>(1, candidacy.permits);
  if (own_watch + predecessor_watch > PathBudget::kLimit) {
    return NeverRoom(path, candidacy.permits);
  }
  const bool follows = !candidacy.follows.node.empty();
  Room room;
  if (follows) room.session = sessions.Of(candidacy.follows.session);
  // Without the followed lease's session that lease is over, which any other session can find out.
  if (room.session == nullptr)
    room.session = sessions.WithRoom(candidacy.parent, node, own_watch + predecessor_watch);
  const bool apart = sessions.IsApart(candidacy.parent);
  if (room.session == nullptr) return NoRoom(path, follows, apart);
  room.node = room.session->ephemeral_budget().Reserve(node);
  room.own_watch = room.session->watch_budget().Reserve(own_watch);
  room.predecessor_watch = room.session->watch_budget().Reserve(predecessor_watch);
  if (room.node && room.own_watch && room.predecessor_watch) return room;
  return NoRoom(path, follows, apart);
}

}  // namespace zkrecipes::queue::acquire
