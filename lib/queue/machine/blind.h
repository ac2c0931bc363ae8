// SPDX-License-Identifier: Apache-2.0
//
// Contenders of other libraries that do not wait for a contender of ours, whatever its place in the
// queue: each library looks for certain names only, and passes over the rest. We recognise all, so
// one that is *blind* to our node and comes later holds at the same time. Told by names alone, from
// the listing that an acquire makes anyway (docs/interoperability.md, ADR 43). Pure.

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_BLIND_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_BLIND_H_

#include <string>
#include <vector>

#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine {

// The child of a path in which Curator's semaphores (InterProcessSemaphoreMutex,
// InterProcessSemaphoreV2) keep the nodes of those who hold.
inline constexpr char kSemaphoreLeases[] = "leases";

enum class Library { kOurs, kCurator, kKazoo };

// Of the GUID alone: Curator's is a UUID with dashes, kazoo's one without. A go-zookeeper Lock
// counts as ours: it waits for every name that it can read, and fails on the others.
Library LibraryOf(const NodeName& name);

// Which of the children are another library's, and exclude, by their own rules, a contender of
// `mode`, whose node is named as `named` is in `dialect`, but do not see it. In the children's
// order.
std::vector<std::string> BlindAmong(const zk::Names& children, Dialect dialect, Mode named);

// For messages: what made the child, as far as its name says, and what would make it see us.
struct Maker {
  const char* recipe = "";
  const char* remedy = "";
};
// REQUIRES: of BlindAmong.
Maker MakerOf(const std::string& blind);

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_BLIND_H_
