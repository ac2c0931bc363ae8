// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_POLLABLES_H_
#define ZKRECIPES_LIB_ZK_LOOP_POLLABLES_H_

#include <cstdint>
#include <list>
#include <optional>

#include "lib/base/boot_time.h"
#include "lib/zk/c_client/c_client.h"
#include "lib/zk/loop/ready_set.h"

namespace zkrecipes::zk::loop {

// What a loop drives, and what each of it waits for. Once a round, in this order: Drain, Prepare,
// a look in the set, Ready; any call of a pollable may add and remove others. For the thread that
// has the turn.
class Pollables {
 public:
  explicit Pollables(ReadySet& set) : set_(set), latest_(set.own_number()) {}

  void Add(c_client::Pollable* pollable);
  void Remove(c_client::Pollable* pollable);
  void Closes(int fd);

  void Drain(base::BootTime now);
  bool AnyTouched() const;
  void Prepare(base::BootTime now);
  // Since the last Prepare: when one of them wants to go on.
  base::BootTime until() const { return until_; }
  void Ready(const std::optional<ReadySet::Ready>& ready);

 private:
  struct Slot {
    uint64_t number = 0;                     // by which the set knows it
    c_client::Pollable* pollable = nullptr;  // null: removed during this round
    base::BootTime until;                    // when it is to be drained at the latest
    bool drained = false;                    // since its last Prepare
    int fd = -1;                             // what is waited for
    short events = 0;
    bool watched = false;  // in the set
  };
  bool Watch(Slot& slot, int fd, short events);
  void Forget(Slot& slot);
  static void Report(Slot& slot, short revents);

  ReadySet& set_;
  uint64_t latest_;  // number
  std::list<Slot> slots_;
  base::BootTime until_;
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_POLLABLES_H_
