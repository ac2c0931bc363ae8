// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_STANDING_H_
#define ZKRECIPES_LIB_QUEUE_STANDING_H_

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lib/session/session.h"
#include "zkrecipes/sequencer.h"

namespace zkrecipes::queue {

// What has become of the grant that a sequencer names.
enum class Standing {
  kHolds,
  kWaits,  // its node has others in front: that of an upgrade, until the reader's own is deleted
  kGone,   // for good: neither its name nor its czxid is ever used again
};

// OK, or which rule a sequencer breaks that a user made by hand.
absl::Status CheckSequencerForm(const Sequencer& sequencer);

// Asks behind a committed barrier, so the answer is no older than the question, however far the
// server lags: three requests in one flight. `done` runs once, on the reactor. `watch` runs at once,
// where a watch on the node is to be sent: in front of the read of the node itself, so that after an
// answer nothing happens to this very node that the watch does not tell.
//   PermissionDenied  the node may not be read; its queue may not be listed
//   Unavailable       the quorum has confirmed nothing
// REQUIRES: CheckSequencerForm(sequencer) is OK.
void AskStanding(
    session::Session& session, const Sequencer& sequencer,
    absl::AnyInvocable<void(absl::StatusOr<Standing>) &&> done,
    absl::FunctionRef<void()> watch = [] {});

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_STANDING_H_
