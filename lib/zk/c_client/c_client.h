// SPDX-License-Identifier: Apache-2.0
//
// The door of this room: the only header here that others include, since it names nothing of
// zookeeper.h.

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_C_CLIENT_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_C_CLIENT_H_

#include <memory>

#include "absl/status/statusor.h"

#include "lib/base/boot_time.h"
#include "lib/zk/seam/handle.h"
#include "lib/zk/seam/reactor.h"

namespace zkrecipes::zk::c_client {

// A handle's socket as the loop that drives it sees it, among many: a round calls only the handles
// for which there is something to do. All calls are made on the loop's thread, each round in this
// order: Drain, Prepare, poll, (posted tasks, timers,) OnReady. Any of them may run callbacks that
// add or remove other pollables, never this one.
class Pollable {
 public:
  // What to poll for; valid until the next call of this pollable, since the C client opens and
  // closes its socket at will, mostly under the same number.
  struct Interest {
    int fd = -1;  // -1: no socket at present
    short events = 0;
    base::BootTime until = base::BootTime::InfiniteFuture();  // when to go on at the latest
  };

  virtual ~Pollable() = default;
  // Handles what the socket holds (a bounded part of it). After a poll that reported something, and
  // at `until`. If this leaves anything to do before the latest `until`, it is touched.
  virtual void Drain() = 0;
  // Does what is due (pings, reconnects) and sends what this round has produced. After a Drain, and
  // once touched.
  virtual Interest Prepare() = 0;
  // poll reported `revents`, never 0, for the socket. What can be read is left to the next Drain.
  virtual void OnReady(short revents) = 0;

  // Something was asked of it since its last Prepare, from outside of these calls.
  bool touched() const { return touched_; }
  void set_touched(bool touched) { touched_ = touched; }

 private:
  bool touched_ = true;
};

// A loop as its pollables see it. On the loop's thread.
class PollSet {
 public:
  virtual ~PollSet() = default;
  virtual void Add(Pollable* pollable) = 0;
  virtual void Remove(Pollable* pollable) = 0;
  // Of a pollable, just before it is closed: an epoll set must be told.
  virtual void Closes(int fd) = 0;
};

// A handle of our private copy of Apache's single-threaded C client, driven by the loop behind
// `reactor` and `poll_set`, which must outlive it. For the loop's thread, like everything of a
// handle. ResourceExhausted: no descriptors or memory. Internal: the C client rejects its
// arguments.
absl::StatusOr<std::unique_ptr<Handle>> OpenCHandle(const HandleOptions& options,
                                                    HandleListener* listener, Reactor* reactor,
                                                    PollSet* poll_set);

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_C_CLIENT_H_
