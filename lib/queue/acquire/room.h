// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_ACQUIRE_ROOM_H_
#define ZKRECIPES_LIB_QUEUE_ACQUIRE_ROOM_H_

#include <string>

#include "absl/status/statusor.h"

#include "lib/queue/machine/candidacy.h"
#include "lib/session/client/sessions.h"
#include "lib/session/path_budget.h"

namespace zkrecipes::queue::acquire {

// A contender's room in a session: the bytes of its node's path and of those that it watches. Gives
// them back when it goes.
struct Room {
  // The room of a contender for `candidacy`, in whichever session has it; one that follows a lease
  // must be in that lease's session, since the two must end together. ResourceExhausted if there is
  // none. `path`: for the message, as the user gave it.
  static absl::StatusOr<Room> Find(session::client::Sessions& sessions,
                                   const machine::Candidacy& candidacy, const std::string& path);

  session::Session* session = nullptr;
  session::PathBudget::Reservation node;
  session::PathBudget::Reservation own_watch;
  session::PathBudget::Reservation predecessor_watch;
};

}  // namespace zkrecipes::queue::acquire

#endif  // ZKRECIPES_LIB_QUEUE_ACQUIRE_ROOM_H_
