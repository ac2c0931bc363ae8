// SPDX-License-Identifier: Apache-2.0
//
// A job that runs on one machine at a time: waits for its lock, works, and stops when the lock is
// lost.
//
//   lock SERVERS      or ZKR_SERVERS; "127.0.0.1:2181"

#include "zkrecipes/lock.h"

#include <cstdlib>
#include <iostream>
#include <utility>

#include "zkrecipes/client.h"

namespace {

// Stands for the resource that the job writes to. Let it reject a token lower than the highest it
// has seen: that also stops a process that was frozen while it believed it held the lock.
void Write(zkrecipes::FencingToken token, int step) {
  std::cout << "step " << step << " with token " << token << std::endl;
}

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* servers = argc > 1 ? argv[1] : std::getenv("ZKR_SERVERS");
  if (servers == nullptr) {
    std::cerr << "usage: lock SERVERS\n";
    return 2;
  }
  auto client = zkrecipes::Client::Connect({.servers = servers}, {absl::Seconds(10)});
  if (!client.ok()) return Fail(client.status());

  zkrecipes::Lock lock(*client, "/examples/job");
  absl::StatusOr<zkrecipes::Lease> lease = lock.Acquire({absl::Seconds(30)});
  if (absl::IsDeadlineExceeded(lease.status())) {
    std::cout << "another machine is at it" << std::endl;
    return 0;
  }
  if (!lease.ok()) return Fail(lease.status());
  for (int step = 1; step <= 3; ++step) {
    // Always correct, even in the first call after a pause. lease->ended() calls back instead.
    if (!lease->believed()) {
      return Fail(absl::AbortedError("the lock was lost"));
    }
    Write(lease->token(), step);
  }
  // The lease's destructor would release it, too; this also waits until others may have the lock.
  const absl::Status released = std::move(*lease).Release({absl::Seconds(10)});
  if (!released.ok()) return Fail(released);
  std::cout << "released" << std::endl;
  return 0;
}
