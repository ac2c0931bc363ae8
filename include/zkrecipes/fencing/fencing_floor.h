// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FENCING_FLOOR_H_
#define ZKRECIPES_FENCING_FENCING_FLOOR_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "zkrecipes/fencing_pass.h"
#include "zkrecipes/fencing_token.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The highest passes that a resource has seen. It only grows: epochs first, then tokens,
// then the turns of one token.
struct FencingFloor {
  // Restoring an old backup of the ensemble sets its tokens back. Its operators then raise the
  // epoch: a pass of the new epoch is admitted with any token, and a pass of an older epoch is
  // refused.
  int64_t epoch = 0;
  FencingToken exclusive = {};  // the highest that an exclusive holder or a leader has shown
  FencingToken shared = {};     // the highest that a reader has shown
  int64_t turn = 0;             // the highest that was shown with the token `exclusive`

  // The rule, for a resource that keeps its floor by itself. OK: admitted, and the floor is raised.
  // An equal token is admitted, since one holder has many operations. An exclusive token must be at
  // least every token seen; a reader's at least every exclusive one. With the token `exclusive`, an
  // exclusive holder's turn must be at least `turn`.
  //   FailedPrecondition  the pass is stale: its holder has lost the lock, or its turn is over. The
  //                       floor stays.
  //   InvalidArgument     the pass has no token, a negative turn, or is a reader's with a turn
  absl::Status Admit(const FencingPass& pass);

  friend bool operator==(const FencingFloor&, const FencingFloor&) = default;
};

// The content of a FencedFile or a FencedObject.
struct FencedData {
  std::string data = {};
  FencingFloor floor = {};
};

// Where a FencingGate keeps its floors, so that they outlive it: floor_database.h has one. Called
// by one thread at a time. The gate passes any error on to its caller.
class FloorStore {
 public:
  virtual ~FloorStore() = default;
  // Calls `each` once for every key that was saved and not forgotten, in any order.
  virtual absl::Status Load(
      absl::FunctionRef<void(const std::string& key, const FencingFloor&)> each) = 0;
  // OK only if the floor will be loaded after any crash.
  virtual absl::Status Save(const std::string& key, const FencingFloor& floor) = 0;
  // OK only if the key will not be loaded after any crash.
  virtual absl::Status Forget(const std::string& key) = 0;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FENCING_FLOOR_H_
