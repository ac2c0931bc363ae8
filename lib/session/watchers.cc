// SPDX-License-Identifier: Apache-2.0

#include "lib/session/watchers.h"

#include <utility>

namespace zkrecipes::session {

machine::WatcherId Watchers::Add(const zk::Watch& watch, Fired fired) {
  // The watcher is known before the request is sent: the event may come with its answer.
  const machine::WatcherId id = next_++;
  table_.Add(watch, id);
  watchers_.emplace(id, std::move(fired));
  return id;
}

bool Watchers::OnReply(machine::WatcherId id, const zk::Watch& watch, bool armed) {
  if (!armed) watchers_.erase(id);
  return table_.OnReply(watch, id, armed);
}

bool Watchers::Remove(const zk::Watch& watch, machine::WatcherId id) {
  return watchers_.erase(id) > 0 && table_.Remove(watch, id);
}

void Watchers::Fire(const std::string& path, zk::WatchEvent event) {
  for (const machine::WatcherId id : table_.Fire(path, event)) {
    const auto it = watchers_.find(id);
    if (it == watchers_.end()) continue;  // removed by a callback before it
    // Taken out before the call, in which the same path may be watched anew.
    Fired fired = std::move(it->second);
    watchers_.erase(it);
    std::move(fired)(path, event);
  }
}

void Watchers::Clear() {
  table_.Clear();
  watchers_.clear();
}

}  // namespace zkrecipes::session
