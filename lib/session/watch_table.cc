// SPDX-License-Identifier: Apache-2.0

#include "lib/session/watch_table.h"

#include <utility>

namespace zkrecipes::session {

void WatchTable::Add(const std::string& path, WatcherId id) {
  Entry& entry = paths_[path];
  entry.asked.insert(id);
  ++entry.unanswered;
}

bool WatchTable::OnReply(const std::string& path, WatcherId id, bool armed) {
  const auto it = paths_.find(path);
  if (it == paths_.end()) return false;
  Entry& entry = it->second;
  --entry.unanswered;
  entry.on_server |= armed;
  if (entry.asked.erase(id) > 0 && armed) entry.armed.insert(id);
  return Tidy(path, entry);
}

bool WatchTable::Remove(const std::string& path, WatcherId id) {
  const auto it = paths_.find(path);
  if (it == paths_.end()) return false;
  it->second.asked.erase(id);
  it->second.armed.erase(id);
  return Tidy(path, it->second);
}

std::vector<WatcherId> WatchTable::Fire(const std::string& path) {
  const auto it = paths_.find(path);
  if (it == paths_.end()) return {};
  Entry& entry = it->second;
  entry.on_server = false;
  const std::set<WatcherId> fired = std::exchange(entry.armed, {});
  (void)Tidy(path, entry);  // nothing on the server to take off
  return {fired.begin(), fired.end()};
}

bool WatchTable::Tidy(const std::string& path, Entry& entry) {
  if (entry.unanswered > 0 || !entry.asked.empty() || !entry.armed.empty()) return false;
  const bool remove = entry.on_server;
  paths_.erase(path);
  return remove;
}

}  // namespace zkrecipes::session
