// SPDX-License-Identifier: Apache-2.0

#include "lib/session/machine/watch_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zkrecipes::session::machine {
namespace {

void Insert(WatcherIds& ids, WatcherId id) {
  const auto at = std::lower_bound(ids.begin(), ids.end(), id);
  if (at == ids.end() || *at != id) ids.insert(at, id);
}

bool Erase(WatcherIds& ids, WatcherId id) {
  const auto at = std::lower_bound(ids.begin(), ids.end(), id);
  if (at == ids.end() || *at != id) return false;
  ids.erase(at);
  return true;
}

}  // namespace

// A watcher in flight is not armed: an event that arrives before its answer belongs to the watch of
// an earlier request.
void WatchTable::Add(const zk::Watch& watch, WatcherId id) {
  Entry& entry = entries_[watch];
  Insert(entry.in_flight, id);
  Insert(entry.interested, id);
}

bool WatchTable::OnReply(const zk::Watch& watch, WatcherId id, bool armed) {
  const auto it = entries_.find(watch);
  if (it == entries_.end() || !Erase(it->second.in_flight, id)) return false;
  Entry& entry = it->second;
  // The server keeps one watch a path and kind for the connection, however often it was set.
  entry.on_server |= armed;
  if (!armed) (void)Erase(entry.interested, id);
  return Tidy(watch, entry);
}

bool WatchTable::Remove(const zk::Watch& watch, WatcherId id) {
  const auto it = entries_.find(watch);
  if (it == entries_.end() || !Erase(it->second.interested, id)) return false;
  return Tidy(watch, it->second);
}

WatcherIds WatchTable::Fire(const std::string& path, zk::WatchEvent event) {
  WatcherIds fired;
  for (const zk::WatchKind kind : {zk::WatchKind::kNode, zk::WatchKind::kExists}) {
    if (zk::Fires(event, kind)) Fire({path, kind}, fired);
  }
  return fired;
}

void WatchTable::Fire(const zk::Watch& watch, WatcherIds& fired) {
  const auto it = entries_.find(watch);
  if (it == entries_.end()) return;
  Entry& entry = it->second;
  // The event used up the watch. Those whose request is still on its way set another one, and stay.
  entry.on_server = false;
  std::set_difference(entry.interested.begin(), entry.interested.end(), entry.in_flight.begin(),
                      entry.in_flight.end(), std::back_inserter(fired));
  WatcherIds rest;
  std::set_intersection(entry.interested.begin(), entry.interested.end(), entry.in_flight.begin(),
                        entry.in_flight.end(), std::back_inserter(rest));
  entry.interested = std::move(rest);
  (void)Tidy(watch, entry);  // there is no watch left on the server to remove
}

// Returns whether the server has a watch that nobody wants any more. While a request is in flight
// it is not known which watch a removal would remove, so the answer decides.
bool WatchTable::Tidy(const zk::Watch& watch, Entry& entry) {
  if (!entry.in_flight.empty() || !entry.interested.empty()) return false;
  const bool remove = entry.on_server;
  entries_.erase(watch);
  return remove;
}

}  // namespace zkrecipes::session::machine
