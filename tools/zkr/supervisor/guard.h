// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_GUARD_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_GUARD_H_

#include <sys/types.h>

#include "tools/zkr/supervisor/channel.h"
#include "tools/zkr/supervisor/runner.h"

namespace zkrecipes::zkr::supervisor {

// The process that makes sure that CMD does not outlive the lock, whatever happens to zkr. It is
// forked before zkr has threads, has none itself, talks to no server and ignores every signal that
// can be ignored. It is in a process group of its own, so that a kill of zkr's group spares it.
//
//     zkr ---- guard ---- runner ---- CMD's process group ---- whatever CMD starts
//
// It kills CMD's whole tree and ends when
// - zkr is gone (its end of the socket is closed: any death of zkr does that), or asks for it;
// - the last moment that zkr gave (Ending::kill_at) has come on CLOCK_BOOTTIME: the lock could
//   not be confirmed, zkr is stopped or hangs, or the machine was suspended;
// - the runner is gone: CMD and its leftovers have ended, or the runner was killed.
// Its own end tells zkr that nothing of the tree is left. A guard of Command::again continues
// instead, reports that, and waits for the next start.
//
// How it kills: with CMD's cgroup, where it has one, and by killing the descendants that /proc
// shows until none is left; guard and runner are child subreapers, so no descendant escapes to
// another parent. If the guard is killed, the runner does the same work. zkr itself is no
// subreaper: the children that it had before it was zkr, and theirs, are not CMD's.
//
// A guard that somebody stops is continued by zkr at once, as a runner is by the guard.
//
// What escapes each kind of guard: docs/zkr.md, "What guards CMD".
struct GuardSetup {
  Inherited of_zkr;
  Channel to_zkr;
  pid_t zkr_group = 0;
};

// Guards to the end in this process and leaves the process. REQUIRES: just forked, one thread.
[[noreturn]] void BeGuard(GuardSetup setup);

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_GUARD_H_
