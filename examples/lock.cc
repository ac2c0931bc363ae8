// SPDX-License-Identifier: Apache-2.0
//
// A job that runs on one machine at a time: waits for its lock, works, and stops when the lock is lost.
//
//   lock SERVERS      or ZKR_SERVERS; "127.0.0.1:2181"

#include "zkrecipes/lock.h"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <utility>

#include "zkrecipes/client.h"

namespace {

// What the job writes to. Whatever it is, let it refuse a token lower than the highest it has seen:
// that also stops a process that was frozen while it believed to hold the lock.
bool Write(zkrecipes::FencingToken token, int step) {
  std::cout << "step " << step << " with token " << token << std::endl;
  return true;
}

int Run(const std::shared_ptr<zkrecipes::Client>& client) {
  zkrecipes::Lock lock(client, "/examples/job");
  absl::StatusOr<zkrecipes::Lease> lease = lock.Acquire({absl::Seconds(30)});
  if (absl::IsDeadlineExceeded(lease.status())) {
    std::cout << "another machine is at it" << std::endl;
    return 0;
  }
  if (!lease.ok()) {
    std::cerr << lease.status() << "\n";
    return 1;
  }
  for (int step = 1; step <= 3; ++step) {
    // Always right, even in the first call after a pause. To be called instead: lease->lost().
    if (lease->state() == zkrecipes::Lease::State::kLost) {
      std::cerr << "the lock was lost before step " << step << "\n";
      return 1;
    }
    if (!Write(lease->token(), step)) return 1;
  }
  // To let it go out of scope releases it, too; this waits until others may have it.
  if (absl::Status released = std::move(*lease).Release({absl::Seconds(10)}); !released.ok()) {
    std::cerr << released << "\n";
    return 1;
  }
  std::cout << "released" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 1 ? argv[1] : std::getenv("ZKR_SERVERS");
  if (servers == nullptr) {
    std::cerr << "usage: lock SERVERS\n";
    return 2;
  }
  auto client = zkrecipes::Client::Connect({.servers = servers}, {absl::Seconds(10)});
  if (!client.ok()) {
    std::cerr << client.status() << "\n";
    return 1;
  }
  return Run(*client);
}
