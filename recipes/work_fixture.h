// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_WORK_FIXTURE_H_
#define ZKRECIPES_RECIPES_WORK_FIXTURE_H_

#include <array>
#include <functional>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "zkrecipes/leader_election.h"
#include "zkrecipes/lock.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::testing {

// A recipe's loop of lease_work.h. Owns the recipe.
using RunsWork = std::function<absl::Status(std::stop_token, LeaseWork, const RunOptions&)>;

template <typename Recipe, typename... Args>
RunsWork RunsWorkOf(absl::Status (Recipe::*run)(std::stop_token, LeaseWork, const RunOptions&)
                        const,
                    Args&&... args) {
  return [run, recipe = Recipe(std::forward<Args>(args)...)](std::stop_token stop, LeaseWork work,
                                                             const RunOptions& options) {
    return (recipe.*run)(std::move(stop), std::move(work), options);
  };
}

// One of the recipes that run work, for claims that hold for all of them.
struct WorkRecipe {
  using Client = std::shared_ptr<zkrecipes::Client>;
  using Path = const std::string&;
  using Options = const AcquireOptions&;

  const char* name;
  RunsWork (*of)(Client client, Path path, Options options);
  // A lease that keeps its work from running.
  absl::StatusOr<Lease> (*in_the_way)(Client client, Path path);

  RunsWork Of(Client client, Path path, Options options = {}) const {
    return of(std::move(client), path, options);
  }
};
inline void PrintTo(const WorkRecipe& recipe, std::ostream* out) { *out << recipe.name; }

inline const std::array<WorkRecipe, 4> kWorkRecipes = {{
    {"Lock",
     [](WorkRecipe::Client c, WorkRecipe::Path p, WorkRecipe::Options o) {
       return RunsWorkOf(&Lock::RunWhileHolding, std::move(c), p, o);
     },
     [](WorkRecipe::Client c, WorkRecipe::Path p) { return Lock(std::move(c), p).Acquire(); }},
    {"Reader",
     [](WorkRecipe::Client c, WorkRecipe::Path p, WorkRecipe::Options o) {
       return RunsWorkOf(&ReadWriteLock::RunWhileHoldingShared, std::move(c), p, o);
     },
     [](WorkRecipe::Client c, WorkRecipe::Path p) {
       return ReadWriteLock(std::move(c), p).AcquireExclusive();
     }},
    {"Writer",
     [](WorkRecipe::Client c, WorkRecipe::Path p, WorkRecipe::Options o) {
       return RunsWorkOf(&ReadWriteLock::RunWhileHoldingExclusive, std::move(c), p, o);
     },
     [](WorkRecipe::Client c, WorkRecipe::Path p) {
       return ReadWriteLock(std::move(c), p).AcquireShared();
     }},
    {"Leader",
     [](WorkRecipe::Client c, WorkRecipe::Path p, WorkRecipe::Options o) {
       return RunsWorkOf(&LeaderElection::RunWhileLeading, std::move(c), p,
                         LeaderElectionOptions{.acquire = o});
     },
     [](WorkRecipe::Client c, WorkRecipe::Path p) {
       return LeaderElection(std::move(c), p).Campaign();
     }},
}};

inline std::string NameOf(const ::testing::TestParamInfo<WorkRecipe>& test) {
  return test.param.name;
}

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_RECIPES_WORK_FIXTURE_H_
