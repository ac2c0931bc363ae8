// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_CLIENT_FIXTURE_H_
#define ZKRECIPES_INTEGRATION_CLIENT_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "integration/zk_test.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::integration {

constexpr absl::Duration kSoon = absl::Seconds(60);  // for what should take milliseconds

// Whether `condition` comes true before kSoon has passed.
template <typename F>
bool Eventually(F condition) {
  const absl::Time until = absl::Now() + kSoon;
  while (!condition()) {
    if (absl::Now() > until) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

// An asynchronous acquire that is under way: its answer, and how often it came. Thread-safe.
class Pending {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<Lease>) &&>;

  // `start` gets the `done` of some recipe's AcquireAsync.
  explicit Pending(const std::function<void(Done done)>& start);
  Pending(const std::shared_ptr<Client>& client, const std::string& path, WaitOptions wait = {},
          const LockOptions& options = {});

  // The answer, once; Internal if none comes.
  absl::StatusOr<Lease> Get();
  absl::StatusCode Code() { return Get().status().code(); }
  int answers() const;
  bool answered() const { return answers() > 0; }

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// What a client's OnStateChange said, in order. Thread-safe.
class States {
 public:
  explicit States(Client& client);

  std::vector<ClientState> seen() const;
  bool Await(ClientState state) const;  // since the beginning
  bool Are(ClientState state) const { return !seen().empty() && seen().back() == state; }

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  Subscription subscription_;
};

// Tests of the public API. From ZkTest comes the look at the tree past the library's recipes.
class ClientTest : public ZkTest {
 protected:
  // Of the ensemble, with a timeout of 20 s, unless the options say otherwise.
  std::shared_ptr<Client> NewClient(ClientOptions options = {});
  Lease Acquired(const std::shared_ptr<Client>& client, const std::string& path);
  Lease Acquired(const std::shared_ptr<Client>& client) { return Acquired(client, node_path()); }

  // A committed write of its own: what follows on `client`, whose server may have been behind, sees all
  // that was committed before. A new client needs none: opening its session is such a write.
  void CatchUp(const std::shared_ptr<Client>& client);

  // What the client's server knows, which may be behind.
  std::vector<ContenderInfo> Queue(Client& client);
  bool AwaitQueue(Client& client, size_t size);
};

// All paths below `root` (but ZooKeeper's own) that were committed before, in order. Nodes that the
// session of `session` may not read have no children.
std::vector<std::string> Tree(ZkSession& session, const std::string& root = "/");

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_CLIENT_FIXTURE_H_
