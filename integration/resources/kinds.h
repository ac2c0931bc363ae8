// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_RESOURCES_KINDS_H_
#define ZKRECIPES_INTEGRATION_RESOURCES_KINDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing/fencing_floor.h"
#include "zkrecipes/lease.h"

namespace resources {

// A writer shows this with a write.
struct Holder {
  zkrecipes::FencingPass pass = {};
  const zkrecipes::Lease* lease = nullptr;  // for what is guarded in ZooKeeper itself
};

// One connection to a guarded store, seen as a single register. One thread.
class Register {
 public:
  virtual ~Register() = default;
  // FailedPrecondition if the holder is stale.
  virtual absl::Status Write(const Holder& holder, const std::string& value) = 0;
  // The same write without the check: the unfenced side of a ratio, and what corrupts.
  virtual absl::Status WriteUnchecked(const std::string& value) = 0;
  virtual absl::StatusOr<std::string> Read() = 0;  // "" before the first write
};

// The real thing: listens on loopback or in a temporary directory, and ends with this object.
class Server {
 public:
  virtual ~Server() = default;
  virtual std::string address() const = 0;  // any process of this machine may connect to it
  // Ends it as a crash would, and starts it again at the same address. Unimplemented: what it keeps
  // does not outlive it.
  virtual absl::Status Restart() { return absl::UnimplementedError("keeps nothing"); }
};

struct Kind {
  const char* name;
  absl::StatusOr<std::unique_ptr<Server>> (*start)();
  absl::StatusOr<std::unique_ptr<Register>> (*connect)(const std::string& address);
};

// Each is made in its own source, <name>_register.cc.
Kind File();
Kind Http();
Kind Object();
Kind PostgresColumns();
Kind PostgresTrigger();
Kind Redis();
// Guarded by the lease, not by a pass, so it is in the ensemble of the lock: it starts none.
Kind ZooKeeper();

// A row for each kind that this build has, but ZooKeeper.
inline const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      File(),
#ifdef ZKRECIPES_WITH_SQLITE
      Http(),
#endif
      Object(),
#ifdef ZKRECIPES_WITH_POSTGRES
      PostgresColumns(),
      PostgresTrigger(),
#endif
#ifdef ZKRECIPES_WITH_REDIS
      Redis(),
#endif
  };
  return kinds;
}

// The servers of the kinds, for tests that want more of them than a register. `durable`: a write is
// on the disk before it is answered. PostgreSQL has the registers of both kinds; its address is
// what libpq connects by. The address of Redis is a socket.
absl::StatusOr<std::unique_ptr<Server>> StartPostgres(bool durable);
absl::StatusOr<std::unique_ptr<Server>> StartRedis(bool durable);

}  // namespace resources

#endif  // ZKRECIPES_INTEGRATION_RESOURCES_KINDS_H_
