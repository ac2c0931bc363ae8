// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_PERMITS_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_PERMITS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine {

inline constexpr size_t kMostPermits = 1000;

// A semaphore's queue as one contender of it sees it in a listing: docs/adr/0062. A permit is
// granted while fewer than n permits are in front, and no other contender. Names are the children's
// own text.
struct PermitView {
  std::optional<int32_t> sequence;  // of its own name
  bool listed = false;              // its own node is among the children
  // Whether it is granted. REQUIRES: listed, and sequence has a value.
  bool granted = false;
  // The next one behind it is a permit: whoever is granted lets that one know, by setting the data
  // of its own node, since it may be the first waiter now.
  bool followed = false;

  // ---- If it has to wait: at least so many have to go before it is granted, the nearest last.
  std::vector<absl::string_view> in_front;
  // These are watched, for their deletion. The first waiter watches the n that are granted, since
  // any of them may be the first to go; any other one the node in front.
  std::vector<absl::string_view> watched;
  // The one that is watched waits itself: so it is watched for a change of its data, too.
  bool behind_waiter = false;
};

// REQUIRES: 0 < permits.
PermitView ViewPermits(const zk::Names& children, absl::string_view own_name, size_t permits);

// Whether a permit that joined now, at the tail, would have to wait.
bool TailMustWaitForPermit(const zk::Names& children, size_t permits);

// The data of a semaphore's path: its number of permits, as kazoo's Semaphore writes it, too.
// nullopt: it is none from 1 to kMostPermits.
std::optional<size_t> ParsePermits(absl::string_view data);

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_PERMITS_H_
