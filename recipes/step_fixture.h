// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_STEP_FIXTURE_H_
#define ZKRECIPES_RECIPES_STEP_FIXTURE_H_

#include <memory>
#include <utility>

#include "gmock/gmock.h"

#include "lib/base/executor_fixture.h"
#include "zkrecipes/client.h"
#include "zkrecipes/testing/in_memory_ensemble.h"

namespace zkrecipes::testing {

// No thread: the ensemble and the executor's tasks run when told.
class StepTest : public ::testing::Test {
 protected:
  std::shared_ptr<Client> Connect(std::shared_ptr<Executor> executor) {
    auto client = ensemble_.Connect({.executor = std::move(executor)});
    EXPECT_TRUE(client.ok()) << client.status();
    return *client;
  }
  void RunAll() {
    do {
      executor_->RunAll();
      ensemble_.RunUntilIdle();
    } while (executor_->waiting() > 0);
  }

  InMemoryEnsemble ensemble_{{.manual = true}};
  const std::shared_ptr<base::StepExecutor> executor_ = std::make_shared<base::StepExecutor>();
};

}  // namespace zkrecipes::testing

#endif  // ZKRECIPES_RECIPES_STEP_FIXTURE_H_
