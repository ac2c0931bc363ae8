// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_PARTITIONS_STORY_H_
#define ZKRECIPES_VERIFICATION_PARTITIONS_STORY_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "verification/partitions/service.h"
#include "zkrecipes/testing/local_ensemble.h"

namespace zkrecipes::verification {

struct Event {
  double second;
  std::string text;  // for the picture and the verdict
  std::function<absl::Status()> happens;
};

// Each event comes when what the last one began is over.
std::vector<Event> FixedStory(Service& service, testing::LocalEnsemble& servers);

// Members are killed, paused, stopped and started, and the leading server is killed, at random: by
// `seed`, and one into the other. In the end all are there, and have time to find their shares.
std::vector<Event> RandomStory(Service& service, testing::LocalEnsemble& servers, uint64_t seed,
                               double minutes);

}  // namespace zkrecipes::verification

#endif  // ZKRECIPES_VERIFICATION_PARTITIONS_STORY_H_
