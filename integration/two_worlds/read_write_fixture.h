// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_READ_WRITE_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_READ_WRITE_FIXTURE_H_

#include <memory>
#include <utility>

#include "integration/two_worlds/world_fixture.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/read_write_lock.h"

namespace zkrecipes::integration {

// Readers and writers of path().
class ReadWriteTest : public WorldTest {
 protected:
  using WorldTest::WorldTest;

  ReadWriteLock LockOf(const std::shared_ptr<Client>& client) { return {client, path()}; }
  ReadWriteLock lock() { return LockOf(client_); }

  Pending Read(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    return Pending(
        [&](auto done) { LockOf(client).AcquireSharedAsync(std::move(wait), std::move(done)); });
  }
  Pending Write(const std::shared_ptr<Client>& client, WaitOptions wait = {}) {
    return Pending(
        [&](auto done) { LockOf(client).AcquireExclusiveAsync(std::move(wait), std::move(done)); });
  }
  Pending Read() { return Read(client_); }
  Pending Write() { return Write(client_); }

  Lease Reading(const std::shared_ptr<Client>& client) {
    Pending reader = Read(client);
    return Granted(reader);
  }
  Lease Writing(const std::shared_ptr<Client>& client) {
    Pending writer = Write(client);
    return Granted(writer);
  }
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_READ_WRITE_FIXTURE_H_
