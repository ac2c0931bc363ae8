// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong in a Scene, besides what moves.cc says.

#include <algorithm>

#include "verification/schedules/scene.h"

namespace zkrecipes::schedules {

// What docs/lease.md assumes for the sessions of a Scene. (Strict leases do not.)
constexpr absl::Duration kLongestPingGap = absl::Milliseconds(1100);

void Scene::SetPingGap(absl::Duration gap) {
  model().SetPingGap(strict() ? gap : std::min(gap, kLongestPingGap), now());
}

// The ensemble expires no session that it hears of, so the client stands still for that long first.
// (Strict leases do not rely on it.)
void Scene::Expire(uint32_t process) {
  const internal::ClientCore& core = *processes_[process].core;
  if (!strict()) {
    const bool was_paused = host(process).paused();
    host(process).set_paused(true);
    RunUntil(now() + core.session_timeout());
    host(process).set_paused(was_paused);
  }
  (void)model().Expire(core.session_id(), now());
}

// What is under way is answered; but its server's list of touches does not arrive any more.
void Scene::Forget(uint32_t process) {
  const int server = *ServerOf(process);
  simulation_.RunUntilIdle();
  model().Stall(server, false, true, now());
  simulation_.RunUntilIdle();
  Expire(process);
}

// Of what can happen, only what the process and its server say to each other.
void Scene::TalkUntilIdle(uint32_t process) {
  for (bool more = true; more;) {
    const testing::memory::ConnectionId id = ConnectionOf(process);
    more = id != 0 && model().CanExecute(id);
    if (more) model().Finish(id, now());
    for (; host(process).CanDeliver(); more = true) host(process).Deliver();
    for (; host(process).CanRunTask(); more = true) host(process).RunTask();
  }
}

// The leader has found the session's time to be over, and ends it a moment later; in between it takes
// up whatever comes.
void Scene::ArriveTooLate(uint32_t process) {
  const int server = *ServerOf(process);
  const base::BootTime over = model().DeadlineOf(processes_[process].core->session_id());
  RunUntil(over + -absl::Nanoseconds(1));
  simulation_.SetTime(over);
  model().Stall(server, false, false, now());
  TalkUntilIdle(process);
  while (model().CanCloseDue()) model().CloseDue();
  // Committed before the client hears of it.
  const bool was_paused = host(process).paused();
  host(process).set_paused(true);
  simulation_.RunUntilIdle();
  host(process).set_paused(was_paused);
}

void Scene::OperatorDeletes(uint32_t which) {
  const auto& [czxid, path] = *std::next(history_.nodes().begin(), which);
  if (!model().OperatorDeletes(path, now())) return;
  for (const auto& attempt : Live()) {
    attempt->deleted |= attempt->core->session_id() == history_.OwnerOf(czxid);
  }
}

}  // namespace zkrecipes::schedules
