// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RESOURCES_POSTGRES_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_RESOURCES_POSTGRES_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "gtest/gtest.h"

#include "integration/resources/kinds.h"

namespace resources {

inline zkrecipes::FencingPass Pass(int64_t token) {
  return {.token = zkrecipes::FencingToken(token)};
}

// One PostgreSQL for all tests of a program.
class OnPostgres : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = StartPostgres(/*durable=*/false);
    ASSERT_TRUE(started.ok()) << started.status();
    server() = *std::move(started);
  }
  static void TearDownTestSuite() { server().reset(); }
  static std::unique_ptr<Server>& server() {
    static std::unique_ptr<Server> server;
    return server;
  }
};

}  // namespace resources

#endif  // ZKRECIPES_INTEGRATION_RESOURCES_POSTGRES_FIXTURE_H_
