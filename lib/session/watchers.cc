// SPDX-License-Identifier: Apache-2.0

#include "lib/session/watchers.h"

#include <utility>

namespace zkrecipes::session {

WatcherId Watchers::Add(const std::string& path, Fired fired) {
  const WatcherId id = next_++;
  table_.Add(path, id);
  watchers_[id] = Watcher{path, std::move(fired)};
  return id;
}

bool Watchers::OnReply(WatcherId id, const std::string& path, bool armed) {
  if (!armed) watchers_.erase(id);
  return table_.OnReply(path, id, armed);
}

bool Watchers::Remove(WatcherId id, std::string* path) {
  const auto it = watchers_.find(id);
  if (it == watchers_.end()) return false;
  *path = it->second.path;
  watchers_.erase(it);
  return table_.Remove(*path, id);
}

void Watchers::Fire(const std::string& path, zk::WatchEvent event) {
  for (const WatcherId id : table_.Fire(path)) {
    const auto it = watchers_.find(id);
    if (it == watchers_.end()) continue;  // given up by one that was told before
    auto fired = std::move(it->second.fired);
    watchers_.erase(it);
    std::move(fired)(event);
  }
}

void Watchers::Clear() {
  table_.Clear();
  watchers_.clear();
}

}  // namespace zkrecipes::session
