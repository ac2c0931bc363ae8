// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FENCING_GATE_H_
#define ZKRECIPES_FENCING_FENCING_GATE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing/fencing_floor.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
class Fence;
class GateGroups;
}  // namespace internal

// The floor of one key. Thread-safe; may outlive its gate. A pass that raises the floor, as the
// first of each grant and of each turn does, waits for the store; no other pass waits for it, or
// for a pass that is being saved.
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
  // How many keys of a group have a floor of their own. Beyond that, some fold into the group's
  // common floor, by which the keys without their own are judged.
  //
  // A key is live while a FencingKey of it exists, and until max_keys / 2 other keys of its group
  // have come (taken a place, or been refused one) since its last pass. A key that is refused again
  // and again counts once. A live key is never folded.
  // Of the others that the gate has looked at since (each while max_keys / 2 keys come) the one
  // with the lowest floor is folded first, and none whose floor would refuse the pass that needs
  // the place. So, as long as the gate is open:
  //   - a pass that is older than one that was admitted for its key is refused, folded or not;
  //   - a holder is refused though it holds only if max_keys / 2 other keys of its group have come
  //     since its grant, or since it last showed its pass for the key. It must then acquire again;
  //   - a key with a token beyond all others is the last to be folded.
  // If nothing may be folded a new key is refused with ResourceExhausted: live keys take all
  // places, or the pass is older than those that are not live. So let there be four times as many
  // places as there are keys in use at once.
  size_t max_keys = 1'000'000;

  // Names the group of a key: the ensemble whose tokens it sees, or the tenant. Each group has
  // max_keys places and a common floor of its own, so that it folds nothing of another's. Null: all
  // keys are one group. It must give the same group whenever the store is opened, since a folded
  // key's floor is its group's. Groups are kept for good: strangers must not be able to make up new
  // ones. Called by several threads at a time.
  std::function<std::string(const std::string& key)> group_of = {};

  // Null: floors live as long as the gate.
  std::unique_ptr<FloorStore> store = {};
};

// The resource's side of fencing, for a service that guards many things, each with a lock of its
// own. It keeps the highest pass for each key, and refuses older ones. Show it the pass inside the
// operation, under the mutex that makes the operation atomic: a pass that was admitted before
// another one raised the floor must not act after it. Thread-safe.
class FencingGate {
 public:
  // Of a key, and of a group's name.
  static constexpr size_t kMaxKeyBytes = 4000;

  // Loads the store, and passes its errors on.
  //   DataLoss            the store has a key that no gate has saved
  static absl::StatusOr<std::unique_ptr<FencingGate>> Open(FencingGateOptions options = {});
  ~FencingGate();

  // The same as Of(key)->Admit(pass), but a pass that is refused takes no place. Waits for the disk
  // while the floor is raised, and while a key is folded to make room for this one.
  // Errors: those of FencingKey::Admit, and
  //   InvalidArgument     the key, or its group's name, has more than kMaxKeyBytes bytes
  //   ResourceExhausted   there is no place for a new key: see max_keys
  absl::Status Admit(const std::string& key, const FencingPass& pass);
  // Takes a place if the key has none. Errors: those of Admit that are no answer to a pass.
  absl::StatusOr<FencingKey> Of(const std::string& key);
  // By which a pass for the key would be judged now. Takes no place.
  FencingFloor FloorOf(const std::string& key) const;

  size_t keys() const;  // that have a floor of their own
  // Of all other keys of the group.
  FencingFloor common_floor(const std::string& group = "") const;

 private:
  explicit FencingGate(std::unique_ptr<internal::GateGroups> groups);
  const std::unique_ptr<internal::GateGroups> groups_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FENCING_GATE_H_
