// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_READY_SET_H_
#define ZKRECIPES_LIB_ZK_LOOP_READY_SET_H_

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "absl/types/span.h"

#include "lib/base/process.h"
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
// ever, while a forked child has it open. In such a child the sets are its parent's, and are not
// touched.
//
// If the program closes descriptors that are not its own, the sets are lost, and for good, since
// their numbers may be another's by now. The kernel wakes nobody for that, so no wait is longer
// than `longest_wait`.
class ReadySet {
 public:
  explicit ReadySet(absl::Duration longest_wait);
  // False if it could not be made: errno.
  bool ok() const { return ok_; }
  // The number of what is the loop's own; sockets have those above it. Random: an event of a set
  // that has got the descriptor's number meanwhile is not taken for one of this set.
  uint64_t own_number() const { return own_number_; }

  // For the thread with the turn. `number` comes back in epoll_event::data.u64. False: the kernel
  // will not have it, so ask by poll.
  bool Add(int fd, uint32_t events, uint64_t number) {
    return Control(inner_, EPOLL_CTL_ADD, fd, events, number);
  }
  // Of one that is in there.
  void Change(int fd, uint32_t events, uint64_t number) {
    Must(inner_, EPOLL_CTL_MOD, fd, events, number);
  }
  void Remove(int fd) { Must(inner_, EPOLL_CTL_DEL, fd, 0, 0); }
  // What is ready, until the next call; the first of it, if that is much. Nullopt: the set is lost.
  using Ready = absl::Span<const epoll_event>;
  std::optional<Ready> Look(bool blocks);

  // For the thread that takes the turn, and that gives it back: no two at once.
  void Lend() { Must(outer_, EPOLL_CTL_MOD, inner_.get(), 0, own_number_); }
  void TakeBack() { Must(outer_, EPOLL_CTL_MOD, inner_.get(), EPOLLIN, own_number_); }
  // For the loop's thread, whoever has the turn: until something is ready that is not lent. It may
  // return for nothing.
  void Sleep();

  // The program has closed a descriptor of the library's, which is told on stderr. From now on
  // every wait is a pause of kPause, and what is ready is to be asked by poll. Thread-safe.
  void Lose();
  bool lost() const { return lost_ || !home_.IsThisProcess(); }

 private:
  bool Control(const base::UniqueFd& set, int how, int fd, uint32_t events, uint64_t number);
  // What fails only if the program has closed either of them.
  void Must(const base::UniqueFd& set, int how, int fd, uint32_t events, uint64_t number) {
    if (!Control(set, how, fd, events, number)) Lose();
  }
  int Await(const base::UniqueFd& set, absl::Span<epoll_event> ready, bool waits);

  const base::HomeProcess home_;
  const absl::Duration longest_wait_;
  const uint64_t own_number_;
  const base::UniqueFd outer_, inner_;
  std::atomic<bool> lost_ = false;
  bool ok_;
  std::array<epoll_event, 64> ready_;
};

// In place of a wait for what no set can tell.
inline constexpr absl::Duration kPause = absl::Milliseconds(10);

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_READY_SET_H_
