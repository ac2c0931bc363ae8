// SPDX-License-Identifier: Apache-2.0
//
// The stores of the kinds, for tests that want more of them than a register.

#ifndef ZKRECIPES_INTEGRATION_RESOURCES_STORES_H_
#define ZKRECIPES_INTEGRATION_RESOURCES_STORES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "integration/resources/kinds.h"

namespace resources {

// A cluster of its own on a socket, with the registers of both kinds. The address is what libpq connects
// by. `durable`: fsync on.
absl::StatusOr<std::unique_ptr<Server>> StartPostgres(bool durable);
// The address is a socket. `durable`: an append-only file, synced before each answer.
absl::StatusOr<std::unique_ptr<Server>> StartRedis(bool durable);

}  // namespace resources

#endif  // ZKRECIPES_INTEGRATION_RESOURCES_STORES_H_
