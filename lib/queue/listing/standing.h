// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_STANDING_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_STANDING_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/session/session.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::queue::listing {

// OK, or which rule a sequencer breaks that a user made by hand.
absl::Status CheckSequencerForm(const Sequencer& sequencer);

// Asks whether the grant that `sequencer` names still holds. Asks behind a committed barrier, so
// the answer is no older than the question, however far the server lags: three requests in one
// flight. `done` runs once, on the reactor. "No" is final if the node has gone, since neither its
// name nor its czxid is ever used again; the node of an upgrade is not first until the reader's own
// is deleted.
//   PermissionDenied  the node may not be read; its queue may not be listed
//   Unavailable       the quorum has confirmed nothing
// REQUIRES: CheckSequencerForm(sequencer) is OK.
void AskStanding(session::Session& session, const Sequencer& sequencer,
                 absl::AnyInvocable<void(absl::StatusOr<bool>) &&> done);

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_STANDING_H_
