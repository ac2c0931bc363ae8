// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_SERVER_TRAITS_H_
#define ZKRECIPES_TESTING_MEMORY_SERVER_TRAITS_H_

#include "absl/time/time.h"

namespace zkrecipes::testing::memory {

// In what servers differ, as far as clients can see it; by default ZooKeeper 3.8 as it is configured
// by default. docs/servers.md says which source each of them is taken from.
struct ServerTraits {
  // ---- ZooKeeper -----------------------------------------------------------------------------------

  bool zxid_in_events = false;  // 3.9: the header of a watch event has the zxid of the change
  // Containers that never had a child are deleted when they are older (3.6; by default never before 3.10).
  absl::Duration longest_unused_container = absl::InfiniteDuration();
  // Of as many requests one is refused as throttled (3.7), or has its connection closed instead (3.6:
  // a stale request; 3.10: an operator sheds connections). 0: none. Real servers count no requests.
  int throttled_of = 0;
  int shed_of = 0;

  // ---- ClickHouse Keeper -----------------------------------------------------------------------------

  bool resumes_sessions = true;  // false: the answer to any Hello is a new session
  bool says_it_is_keeper = false;
  // False: only what goes through its log counts as a sign of life, which is all but reads; and that
  // for the leader itself.
  bool reads_touch = true;
  bool expires_by_wall_clock = false;  // see ModelEnsemble::SetWallClockForward
  bool has_create2 = true;  // false: whoever sends one, or a container's, is disconnected
  absl::Duration shortest_timeout = absl::ZeroDuration();

  static ServerTraits ZooKeeper39() { return {.zxid_in_events = true}; }
  static ServerTraits ZooKeeper310() {
    return {.zxid_in_events = true, .longest_unused_container = absl::Minutes(5)};
  }
  static ServerTraits ClickHouseKeeper() {
    return {.resumes_sessions = false,
            .says_it_is_keeper = true,
            .reads_touch = false,
            .expires_by_wall_clock = true,
            .shortest_timeout = absl::Seconds(10)};
  }
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_SERVER_TRAITS_H_
