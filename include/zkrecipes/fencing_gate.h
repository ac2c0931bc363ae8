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

// The floor of one key. Thread-safe; outlives its gate. Wait-free, also while another pass is being saved,
// unless the pass raises the floor, which happens once for each grant (or comes in the instant in which
// another one begins a new epoch).
class FencingKey {
 public:
  // Admits the pass, or says why not. Blocks for the store when the floor is raised; its error means
  // that the pass is not admitted.
  // Errors: those of FencingFloor::Admit, and of the store.
  absl::Status Admit(const FencingPass& pass);
  FencingFloor floor() const;

 private:
  friend class FencingGate;
  explicit FencingKey(std::shared_ptr<internal::Fence> fence);
  std::shared_ptr<internal::Fence> fence_;
};

// How much a gate remembers, and where it is kept.
struct FencingGateOptions {
  // How many keys have a floor of their own. Beyond that, the floors of keys that were not used for
  // longest fold into one that is common to all keys without their own: it is the highest of them. So a
  // holder may be refused, though it still holds, if its first operation on a key, or the first one
  // after as many other keys have been used, comes with a token below the common floor. It acquires
  // again. A key that a FencingKey is held of is never folded.
  size_t max_keys = 1'000'000;
  // Null: floors live as long as the gate.
  std::unique_ptr<FloorStore> store = {};
};

// The resource's half of fencing, for a service that guards many things, each with a lock of its own: it
// remembers for each key what it has been shown, and refuses what is older. Show it the pass inside the
// operation, under whatever makes the operation atomic: a pass that was admitted before another one
// raised the floor must not act after it. Thread-safe.
class FencingGate {
 public:
  // Loads the store, and passes its errors on.
  static absl::StatusOr<std::unique_ptr<FencingGate>> Open(FencingGateOptions options = {});
  ~FencingGate();

  // The same as Of(key)->Admit(pass): finds the key under a lock that a sixteenth of the keys share. That
  // waits for the disk only while another of them is folded.
  // Errors: those of FencingKey::Admit.
  absl::Status Admit(const std::string& key, const FencingPass& pass);
  // The store's error, if a floor must be folded to make room and cannot be saved.
  absl::StatusOr<FencingKey> Of(const std::string& key);

  size_t keys() const;                // with a floor of their own
  FencingFloor common_floor() const;  // of all others

 private:
  explicit FencingGate(std::unique_ptr<internal::GateTable> table);
  const std::unique_ptr<internal::GateTable> table_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_GATE_H_
