// SPDX-License-Identifier: Apache-2.0
//
// Whom the faults of the catalogue hit.

#ifndef ZKRECIPES_VERIFICATION_FAULTS_TARGETS_H_
#define ZKRECIPES_VERIFICATION_FAULTS_TARGETS_H_

#include <vector>

#include "absl/status/statusor.h"

#include "verification/faults/catalogue.h"

namespace zkrecipes::faults::whom {

// These wait until a member leads: DeadlineExceeded if none does for a long time. A follower is any
// of them.
absl::StatusOr<Targets> Leader(Scene& scene);
absl::StatusOr<Targets> Follower(Scene& scene);
absl::StatusOr<Targets> LeaderAndFollower(Scene& scene);
absl::StatusOr<Targets> Majority(
    Scene& scene);  // the leader, and the fewest followers that make one
absl::StatusOr<Targets> LeaderFirst(Scene& scene);  // all members

absl::StatusOr<Targets> AnyMember(Scene& scene);
absl::StatusOr<Targets> AllMembers(Scene& scene);
absl::StatusOr<Targets> AnyClient(Scene& scene);
absl::StatusOr<Targets> AllClients(Scene& scene);

}  // namespace zkrecipes::faults::whom

#endif  // ZKRECIPES_VERIFICATION_FAULTS_TARGETS_H_
