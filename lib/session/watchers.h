// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_SESSION_WATCHERS_H_
#define ZKRECIPES_LIB_SESSION_WATCHERS_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"

#include "lib/session/machine/watch_table.h"
#include "lib/zk/seam/types.h"

namespace zkrecipes::session {

// The callbacks of the session's watches: WatchTable with callbacks. On the reactor.
class Watchers {
 public:
  // With the path that was watched.
  using Fired = absl::AnyInvocable<void(const std::string& path, zk::WatchEvent) &&>;

  // `fired` is called at most once, after its request was answered and armed it.
  machine::WatcherId Add(const zk::Watch& watch, Fired fired);
  // True if no watcher shares that watch any more: send RemoveWatches.
  [[nodiscard]] bool OnReply(machine::WatcherId id, const zk::Watch& watch, bool armed);
  // `fired` will not be called after this. `watch` as it was added; unknown ids are ignored.
  // Returns the same as OnReply.
  [[nodiscard]] bool Remove(const zk::Watch& watch, machine::WatcherId id);
  // A watcher shares that watch, or is about to.
  bool Has(const zk::Watch& watch) const { return table_.Has(watch); }
  void Fire(const std::string& path, zk::WatchEvent event);
  // The session has expired: all watches end without a call.
  void Clear();

 private:
  machine::WatchTable table_;
  absl::flat_hash_map<machine::WatcherId, Fired> watchers_;
  machine::WatcherId next_ = 1;
};

}  // namespace zkrecipes::session

#endif  // ZKRECIPES_LIB_SESSION_WATCHERS_H_
