// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TWO_WORLDS_SIDE_H_
#define ZKRECIPES_INTEGRATION_TWO_WORLDS_SIDE_H_

#include <memory>
#include <string>
#include <vector>

#include "lib/zk/types.h"
#include "testing/memory/simulation.h"

namespace zkrecipes::integration {

struct SideOptions {
  std::string credentials = {};
  std::vector<zk::AclEntry> acl = {};
};

// One session at the seam of lib/zk, with the model or a real server. For one thread. Its destructor
// ends the session.
class Side {
 public:
  virtual ~Side() = default;

  virtual zk::SessionId id() const = 0;
  // REQUIRES: not between Break and Restore.
  virtual zk::Reply Do(const zk::Request& request) = 0;
  // What its watches reported, in order: "deleted /a", "changed /a", "data /a".
  virtual std::vector<std::string> Events() const = 0;
  // The connection is lost; Restore returns when there is one again, in the same session.
  virtual void Break() = 0;
  virtual void Restore() = 0;
  // By the ensemble. Useless afterwards.
  virtual void Expire() = 0;
};

// `simulation` must outlive it.
std::unique_ptr<Side> NewMemorySide(testing::memory::Simulation* simulation,
                                    const SideOptions& options);
std::unique_ptr<Side> NewServerSide(const SideOptions& options);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TWO_WORLDS_SIDE_H_
