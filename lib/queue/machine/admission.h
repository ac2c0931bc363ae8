// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_ADMISSION_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_ADMISSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine {

// The queue as one contender sees it in a listing of the parent's children.
struct QueueView {
  std::optional<int32_t> sequence;  // of its own name
  bool listed = false;              // its own node is among the children
  bool ignored_listed = false;      // and so is the node that it ignores
  // The nodes that block it, in queue order: the last is watched. They are the children's own text,
  // which has to stay where it is.
  std::vector<absl::string_view> in_front;
};

// The admission rules, one line each: which nodes does a contender of `mode` wait for? A reader
// waits for lower writers of any kind; any other contender for every lower one. The order is that
// of the signed sequence suffixes, never of the text. Children that are not contenders are ignored,
// and so is `ignored`.
QueueView ViewQueue(const zk::Names& children, Mode mode, absl::string_view own_name,
                    absl::string_view ignored = "");

// Whether any of these, in the order of a QueueView, is not a reader.
bool HasWriter(const std::vector<absl::string_view>& in_front);

// Whether a contender that joined now, at the tail, would have to wait.
bool TailMustWait(const zk::Names& children, Mode mode);

// The first in the queue; empty if no child is a contender.
std::string HeadOf(const zk::Names& children);

// The contenders among the children that carry this guid, in queue order.
std::vector<std::string> NodesOf(const zk::Names& children, const std::string& guid);

// The server's counter is a signed 32-bit number that sticks when it overflows: then names repeat
// and order is lost. New contenders are refused this close to the end, while the queue still works.
bool SequenceExhausted(int32_t sequence);

// The child of the parent in which contenders of lock-delay mode keep the name of the last holder's
// node.
inline constexpr char kRecordName[] = "zkrecipes-holder";

// ---- Contenders that are blind to ours ----------------------------------------------------------
// Contenders of other libraries that do not wait for a contender of ours, whatever its place in the
// queue: each library looks for certain names only, and passes over the rest. We recognise all, so
// one that is *blind* to our node and comes later holds at the same time. Told by names alone, from
// the listing that an acquire makes anyway (docs/interoperability.md, ADR 43).

// The child of a path in which Curator's semaphores (InterProcessSemaphoreMutex,
// InterProcessSemaphoreV2) keep the nodes of those who hold.
inline constexpr char kSemaphoreLeases[] = "leases";
bool Contains(const zk::Names& children, absl::string_view child);

// What the list of its own children says of it: a semaphore's leases; nothing, so that it may be a
// semaphore's that nobody holds; or something else, such as a queue of ours.
enum class Leases : uint8_t { kHeld, kEmpty, kOthers };
Leases LeasesIn(const zk::Names& children_of_leases);
// Whether `children` are a semaphore's. An empty `leases` is one's only beside the queue that each
// of its acquires goes through.
bool IsSemaphore(const zk::Names& children, Leases leases);

// Which of the children are another library's, and exclude, by their own rules, a contender of
// `mode`, whose node is named as `named` is in `dialect`, but do not see it. In the children's
// order. Not a semaphore of Curator's, which IsSemaphore tells. To a permit, also the holders of
// kazoo's Semaphore: it counts all children as holders, and we count none of its; and the record of
// a lock with a lock delay, which may believe its lease when its node is gone.
std::vector<std::string> BlindAmong(const zk::Names& children, Dialect dialect, Mode named);

// For messages: what made the child, as far as its name says, and what would make it see us.
struct Maker {
  const char* recipe = "";
  const char* remedy = "";
};
// REQUIRES: of BlindAmong, for `named`.
Maker MakerOf(const std::string& blind, Mode named);

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_ADMISSION_H_
