// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_READY_SET_H_
#define ZKRECIPES_LIB_ZK_LOOP_READY_SET_H_

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <optional>

#include "absl/types/span.h"

#include "lib/base/unique_fd.h"

namespace zkrecipes::zk::loop {

// What the loop waits for: a kernel's set (epoll) of descriptors, inside another one of its own.
//
//   the loop's thread sleeps on [ outer: [ inner: sockets, alarm ] ] <- the one with the turn looks
//
// So all is taken from that thread at once, though it sleeps, and without waking it: Lend empties
// the outer set. TakeBack fills it again, and wakes the thread only if something is ready. What it
// learns in its sleep is just that; it looks in the inner set once it knows that it has the turn.
//
// A descriptor must be removed before it is closed: the kernel would keep it in the set, ready for
// ever, while a forked child has it open. In such a child the sets are its parent's, and must not
// be touched.
class ReadySet {
 public:
  ReadySet();
  // False if the process has no descriptors left.
  bool ok() const { return ok_; }

  // For the thread with the turn. `whose` comes back in epoll_event::data.ptr. False: the kernel
  // will not have it, so ask by poll.
  bool Add(int fd, uint32_t events, void* whose) { return Put(EPOLL_CTL_ADD, fd, events, whose); }
  bool Change(int fd, uint32_t events, void* whose) {
    return Put(EPOLL_CTL_MOD, fd, events, whose);
  }
  void Remove(int fd) { Put(EPOLL_CTL_DEL, fd, 0, nullptr); }
  // What is ready, until the next call; the first of it, if that is much. Nullopt: the set is not
  // there any more, since the program has closed it; that was told, and a pause was made.
  using Ready = absl::Span<const epoll_event>;
  std::optional<Ready> Look(bool blocks);

  // For the thread that takes the turn, and that gives it back: no two at once.
  void Lend();
  void TakeBack();
  // For the loop's thread, whoever has the turn: until something is ready that is not lent. It may
  // return for nothing.
  void Sleep() const;

 private:
  bool Put(int how, int fd, uint32_t events, void* whose) const;

  // Made before all else of the loop: a program that closes descriptors from below gets to these
  // first, and a wait for them ends with an error.
  const base::UniqueFd outer_;
  const base::UniqueFd inner_;
  bool ok_;
  std::array<epoll_event, 64> ready_;
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_READY_SET_H_
