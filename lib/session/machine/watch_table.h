// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_WATCH_TABLE_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_WATCH_TABLE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/inlined_vector.h"

#include "lib/zk/seam/types.h"

namespace zkrecipes::session::machine {

using WatcherId = uint64_t;
// Without heap for one or two, as most are.
using WatcherIds = absl::InlinedVector<WatcherId, 2>;

// The watchers of this session, by kind of watch and node. The server knows at most one watch of a
// kind for a (session, path), however many watchers share it; it is removed only with the last of
// them. Only decides: the caller sends the requests that the results ask for.
//
// A copyable value with a complete hash. Not thread-safe. Does not block.
class WatchTable {
 public:
  // A new watcher. The caller sends a request of its own for it, even if the node is watched
  // already: only the reply to that request proves that the node was still there.
  void Add(const zk::Watch& watch, WatcherId id);

  // The reply to the request of `id`. `armed`: the server has the watch. True if it is not wanted
  // any more: send RemoveWatches. A reply from before Clear has no effect.
  [[nodiscard]] bool OnReply(const zk::Watch& watch, WatcherId id, bool armed);

  // The watcher has lost interest; unknown ids are ignored. True: send RemoveWatches now. (While a
  // request is under way the result is postponed to OnReply: the client library would refuse to
  // remove a watch that it does not know yet.)
  [[nodiscard]] bool Remove(const zk::Watch& watch, WatcherId id);

  // The server's watches that `event` fires are used up: the watchers returned are told, and
  // removed. A watcher whose request is not answered yet is not: the reply will say whether it has
  // a watch.
  WatcherIds Fire(const std::string& path, zk::WatchEvent event);

  // The session has expired, and its watches with it.
  void Clear() { entries_.clear(); }

  bool Has(const zk::Watch& watch) const { return entries_.count(watch) > 0; }
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    // In order.
    WatcherIds in_flight;  // request not answered, including those of watchers that left
    WatcherIds interested;
    bool on_server = false;

    friend bool operator==(const Entry&, const Entry&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Entry& e) {
      return H::combine(std::move(h), e.in_flight, e.interested, e.on_server);
    }
  };

  // Drops the entry when no watcher is left in it; true if the server's watch must go with it.
  bool Tidy(const zk::Watch& watch, Entry& entry);
  void Fire(const zk::Watch& watch, WatcherIds& fired);

  std::map<zk::Watch, Entry> entries_;

 public:
  friend bool operator==(const WatchTable&, const WatchTable&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const WatchTable& t) {
    return H::combine(std::move(h), t.entries_);
  }
};

}  // namespace zkrecipes::session::machine

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_WATCH_TABLE_H_
