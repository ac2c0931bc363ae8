// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_FENCING_FLOOR_STORE_FIXTURE_H_
#define ZKRECIPES_LIB_FENCING_FLOOR_STORE_FIXTURE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "zkrecipes/fencing/fencing_floor.h"
#include "zkrecipes/fencing/fencing_gate.h"

namespace zkrecipes::fencing {

// Remembers, fails when told to, and counts.
class Memory : public FloorStore {
 public:
  struct Kept {
    std::map<std::string, FencingFloor> floors;
    int saves = 0;
    bool fails = false;
    bool forget_fails = false;
    std::function<void()> while_saving = [] {};
  };
  explicit Memory(Kept& kept) : kept_(kept) {}
  absl::Status Load(
      absl::FunctionRef<void(const std::string&, const FencingFloor&)> each) override {
    for (const auto& [key, floor] : kept_.floors) each(key, floor);
    return absl::OkStatus();
  }
  absl::Status Save(const std::string& key, const FencingFloor& floor) override {
    if (kept_.fails) return absl::UnavailableError("the disk is full");
    ++kept_.saves;
    kept_.while_saving();
    kept_.floors[key] = floor;
    return absl::OkStatus();
  }
  absl::Status Forget(const std::string& key) override {
    if (kept_.forget_fails) return absl::UnavailableError("the disk is full");
    kept_.floors.erase(key);
    return absl::OkStatus();
  }

 private:
  Kept& kept_;
};

inline FencingPass PassWith(int64_t token) { return {.token = FencingToken(token)}; }

inline std::unique_ptr<FencingGate> GateFor(size_t keys) {
  return *FencingGate::Open({.max_keys = keys});
}

inline std::unique_ptr<FencingGate> GateOn(Memory::Kept& kept, size_t keys = 1000) {
  return *FencingGate::Open({.max_keys = keys, .store = std::make_unique<Memory>(kept)});
}

}  // namespace zkrecipes::fencing

#endif  // ZKRECIPES_LIB_FENCING_FLOOR_STORE_FIXTURE_H_
