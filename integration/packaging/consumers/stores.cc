// SPDX-License-Identifier: Apache-2.0
// Uses the adapters for PostgreSQL and Redis, without a server.
#include <hiredis/hiredis.h>
#include <libpq-fe.h>

#include <cstdio>

#include "zkrecipes/fencing/fenced_postgres.h"
#include "zkrecipes/fencing/fenced_redis.h"

int main() {
  const zkrecipes::FencingPass pass{.token = zkrecipes::FencingToken(7)};
  PGconn* const nowhere = PQconnectdb("host=/nowhere");
  const absl::Status postgres = zkrecipes::ShowPass(nowhere, "ledger", pass);
  PQfinish(nowhere);
  redisContext* const none = redisConnectUnix("/nowhere");
  const absl::Status redis = zkrecipes::RunFenced(none, {"floor", {}, {"PING"}}, pass).status();
  redisFree(none);
  std::printf("%s\n%s\n", postgres.ToString().c_str(), redis.ToString().c_str());
  return absl::IsUnavailable(postgres) && absl::IsUnavailable(redis) ? 0 : 1;
}
