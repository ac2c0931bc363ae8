// SPDX-License-Identifier: Apache-2.0

#include "lib/session/watch_table.h"

#include <algorithm>
#include <iterator>

namespace zkrecipes::session {

void WatchTable::Add(const std::string& path, WatcherId id) {
  Entry& entry = paths_[path];
  entry.in_flight.insert(id);
  entry.interested.insert(id);
}

bool WatchTable::OnReply(const std::string& path, WatcherId id, bool armed) {
  const auto it = paths_.find(path);
  if (it == paths_.end() || it->second.in_flight.erase(id) == 0) return false;
  Entry& entry = it->second;
  entry.on_server |= armed;
  if (!armed) entry.interested.erase(id);
  return Tidy(path, entry);
}

bool WatchTable::Remove(const std::string& path, WatcherId id) {
  const auto it = paths_.find(path);
  if (it == paths_.end() || it->second.interested.erase(id) == 0) return false;
  return Tidy(path, it->second);
}

std::vector<WatcherId> WatchTable::Fire(const std::string& path) {
  const auto it = paths_.find(path);
  if (it == paths_.end()) return {};
  Entry& entry = it->second;
  entry.on_server = false;
  std::vector<WatcherId> fired;
  std::set_difference(entry.interested.begin(), entry.interested.end(), entry.in_flight.begin(),
                      entry.in_flight.end(), std::back_inserter(fired));
  for (const WatcherId id : fired) entry.interested.erase(id);
  (void)Tidy(path, entry);  // nothing on the server to take off
  return fired;
}

bool WatchTable::Tidy(const std::string& path, Entry& entry) {
  if (!entry.in_flight.empty() || !entry.interested.empty()) return false;
  const bool remove = entry.on_server;
  paths_.erase(path);
  return remove;
}

}  // namespace zkrecipes::session
