// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_POLLABLES_H_
#define ZKRECIPES_LIB_ZK_LOOP_POLLABLES_H_

#include <poll.h>

#include <cstddef>
#include <vector>

#include "lib/base/boot_time.h"
#include "lib/zk/c_client/c_client.h"

namespace zkrecipes::zk::loop {

// What a loop drives, and what each of it waits for. Once a round, in this order: Drain, Prepare,
// a poll, Ready; any call of a pollable may add and remove others. For the thread that has the
// turn.
class Pollables {
 public:
  void Add(c_client::Pollable* pollable);
  void Remove(c_client::Pollable* pollable);

  void Drain(base::BootTime now);
  bool AnyTouched() const;
  // Appends one poll for each pollable.
  void Prepare(std::vector<pollfd>& polls);
  // Since the last Prepare: when one of them wants to go on.
  base::BootTime until() const { return until_; }
  // `first`: the index of what Prepare has appended.
  void Ready(const std::vector<pollfd>& polls, size_t first);

 private:
  struct Slot {
    c_client::Pollable* pollable = nullptr;  // null: removed during this round
    base::BootTime until;                    // when it is to be drained at the latest
    bool drained = false;                    // since its last Prepare
    pollfd poll{-1, 0, 0};                   // poll skips -1
  };
  std::vector<Slot> slots_;
  base::BootTime until_;
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_POLLABLES_H_
