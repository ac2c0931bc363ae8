// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_TURNS_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_TURNS_H_

#include <cstdint>
#include <memory>
#include <random>

#include "absl/time/time.h"

#include "verification/workload/worker/context.h"
#include "verification/workload/worker/holding.h"
#include "verification/workload/worker/recipe.h"

namespace zkrecipes::history {

// Takes turns until it is stopped: asks for some path in some way, writes to the resource while it
// holds it, gives it back in some way. Every choice depends on the seed. For one thread.
class Turns {
 public:
  Turns(WorkerContext& context, uint64_t seed) : context_(context), random_(seed) {}

  void Run();

 private:
  // How a holder behaves.
  struct Manner {
    absl::Duration hold;
    bool careless = false;  // never looks at its lease: only the resource can stop it
  };

  Recipe ChooseRecipe();
  Asking ChooseAsking();
  Manner ChooseManner();
  bool Chance(double p);
  absl::Duration Between(absl::Duration least, absl::Duration most);  // whole milliseconds

  void TakeTurn();
  std::unique_ptr<Holding> Acquire(const Recipe& recipe);
  // False: the turn is over early.
  bool Use(Holding& holding, const Recipe& recipe);
  // One look and one write; false if its manners tell it to stop.
  bool WriteOnce(Holding& holding, const Recipe& recipe, const Manner& manner);
  void VerifyOrProclaim(Holding& holding, const Recipe& recipe);
  // Upgrades or downgrades; `recipe` becomes that of the other mode if that succeeds.
  std::unique_ptr<Holding> Change(std::unique_ptr<Holding> holding, Recipe& recipe);

  WorkerContext& context_;
  std::mt19937_64 random_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_WORKER_TURNS_H_
