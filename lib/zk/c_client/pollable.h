// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_C_CLIENT_POLLABLE_H_
#define ZKRECIPES_LIB_ZK_C_CLIENT_POLLABLE_H_

#include "lib/base/boot_time.h"

namespace zkrecipes::zk::c_client {

// Something with a socket that a loop drives, among many: a round calls only those for which there is
// something to do. All calls on the loop's thread, each round in this order: Drain, Prepare, poll, (posted tasks,
// timers,) OnReady. Any of them may run callbacks that add or remove other pollables, never this one.
class Pollable {
 public:
  // What to poll for; valid until the next call of this pollable, since the C client opens and closes
  // its socket at will, mostly under the same number.
  struct Interest {
    int fd = -1;  // -1: no socket at present
    short events = 0;
    base::BootTime until = base::BootTime::InfiniteFuture();  // when to go on at the latest
  };

  virtual ~Pollable() = default;
  // Handles what the socket holds (a bounded part of it). After a poll that reported something, and at
  // `until`.
  virtual void Drain() = 0;
  // Does what is due (pings, reconnects) and sends what this round has produced. After a Drain, and
  // once touched.
  virtual Interest Prepare() = 0;
  // poll reported `revents`, never 0, for the socket. What can be read is left to the next Drain.
  virtual void OnReady(short revents) = 0;

  bool touched() const { return touched_; }
  void set_touched(bool touched) { touched_ = touched; }

 private:
  // Something was asked of it since its last Prepare, from outside of these calls.
  bool touched_ = true;
};

// A loop as its pollables see it. On the loop's thread.
class PollSet {
 public:
  virtual ~PollSet() = default;
  virtual void Add(Pollable* pollable) = 0;
  virtual void Remove(Pollable* pollable) = 0;
};

}  // namespace zkrecipes::zk::c_client

#endif  // ZKRECIPES_LIB_ZK_C_CLIENT_POLLABLE_H_
