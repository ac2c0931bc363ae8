// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "zkrecipes/client.h"

namespace zkrecipes::integration {

constexpr absl::Duration kLongestSession = absl::Hours(1);

// Where the tests of this folder run: an ensemble in memory, or one of three real servers. One test
// program is linked with memory_world.cc, the other with server_world.cc. In both a tick is half a
// second, sessions last from a second to kLongestSession, and containers are checked every second.
//
// For one thread. A client must not outlive its world.
class World {
 public:
  virtual ~World() = default;

  // A path of this world's own, not created yet.
  virtual const std::string& root() const = 0;

  // A client with a network of its own. `options.servers` is "" or "/namespace".
  virtual absl::StatusOr<std::shared_ptr<Client>> Connect(ClientOptions options) = 0;

  // ---- Faults; the client is one of this world's ----------------------------------------------

  // The client's requests arrive, the answers do not. Reconnect delivers them, unless Disconnect
  // comes first: then they are lost.
  virtual void HoldReplies(const Client& client) = 0;
  // Connections break, with all that is under way; new ones are not made until Reconnect.
  virtual void Disconnect(const Client& client) = 0;
  virtual void Reconnect(const Client& client) = 0;
  // The ensemble ends the client's session: its nodes are gone.
  virtual void Expire(const Client& client) = 0;
  // False: the ensemble is not ours to disturb.
  virtual bool ChangeLeader() = 0;

  // ---- The tree, as an operator sees it --------------------------------------------------------

  // They act on all that was committed before. Create makes persistent nodes.
  virtual bool Create(const std::string& path) = 0;
  virtual bool Delete(const std::string& path) = 0;
  // Of all nodes below `path`, sorted.
  virtual std::vector<std::string> Paths(const std::string& path) = 0;
  // The number of watches that the servers hold.
  virtual int64_t Watches() = 0;

  // ---- Time -------------------------------------------------------------------------------------

  virtual void Pass(absl::Duration time) = 0;
  // The time since some moment before the test.
  virtual absl::Duration Now() = 0;
  // Lets time pass until `condition` is true; false if that takes more than a minute.
  virtual bool Await(const std::function<bool()>& condition) = 0;
};

std::unique_ptr<World> NewWorld();

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_WORLD_H_
