// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_GATE_H_
#define ZKRECIPES_FENCING_GATE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing_floor.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class Fence;
class GateTable;
}  // namespace internal

// The floor of one key. Thread-safe; may outlive its gate. A pass that raises the floor, as the
// first of each grant does, waits for the store; no other pass waits for it, or for a pass that is
// being saved.
class FencingKey {
 public:
  // Admits the pass, or says why not. Blocks for the store when the floor is raised; an error of
  // the store means that the pass is not admitted.
  // Errors: those of FencingFloor::Admit, and of the store.
  absl::Status Admit(const FencingPass& pass);
  FencingFloor floor() const;

 private:
  friend class FencingGate;
  explicit FencingKey(std::shared_ptr<internal::Fence> fence);
  std::shared_ptr<internal::Fence> fence_;
};

// How many floors a gate keeps, and where.
struct FencingGateOptions {
  // How many keys have a floor of their own. Beyond that, the floors of the keys that were unused
  // for longest fold into a common floor for all keys without their own: the highest of them. So a
  // holder that still holds may be refused, if its first operation on a key, or the first one after
  // max_keys other keys were used, has a token below the common floor. It must then acquire again.
  // A key with a living FencingKey is never folded.
  size_t max_keys = 1'000'000;
  // Null: floors live as long as the gate.
  std::unique_ptr<FloorStore> store = {};
};

// The resource's side of fencing, for a service that guards many things, each with a lock of its
// own. It keeps the highest pass for each key, and refuses older ones. Show it the pass inside the
// operation, under the mutex that makes the operation atomic: a pass that was admitted before
// another one raised the floor must not act after it. Thread-safe.
class FencingGate {
 public:
  // Loads the store, and passes its errors on.
  static absl::StatusOr<std::unique_ptr<FencingGate>> Open(FencingGateOptions options = {});
  ~FencingGate();

  // The same as Of(key)->Admit(pass). Finds the key under a mutex that a sixteenth of the keys
  // share, and waits for the disk there only while another of these keys is folded.
  // Errors: those of FencingKey::Admit.
  absl::Status Admit(const std::string& key, const FencingPass& pass);
  // Fails with the store's error if a floor must be folded to make room and cannot be saved.
  absl::StatusOr<FencingKey> Of(const std::string& key);

  size_t keys() const;                // that have a floor of their own
  FencingFloor common_floor() const;  // of all other keys

 private:
  explicit FencingGate(std::unique_ptr<internal::GateTable> table);
  const std::unique_ptr<internal::GateTable> table_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_GATE_H_
