// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_CONTENDER_STAGE_H_
#define ZKRECIPES_LIB_QUEUE_CONTENDER_STAGE_H_

#include <cstddef>
#include <vector>

#include "lib/queue/contender.h"
#include "lib/queue/model_world.h"

namespace zkrecipes::queue {

// For tests: a world with a contender that is tried, in client kMe, and somebody else in kOther.
constexpr int kMe = 0;
constexpr int kOther = 1;

struct Stage {
  ModelWorld world;
  int me = 0;     // contestants
  int other = 0;  // holds the lock until it leaves, where there is one

  void Exchange(int times) {
    for (int i = 0; i < times; ++i) {
      world.Execute(kMe);
      world.Deliver(kMe);
    }
  }
};

// A way to a state, and to each of its shades: what is in flight, what has been executed.
struct Situation {
  const char* name;
  Stage (*reach)();
  Contender::State state;
};
const std::vector<Situation>& Situations();

Stage Outside();        // the parent is there, the contender unconnected
Stage MakingParents();  // of a depth of two
Stage Probing();
Stage WatchInFlight();  // somebody else holds the lock

}  // namespace zkrecipes::queue

#endif  // ZKRECIPES_LIB_QUEUE_CONTENDER_STAGE_H_
