// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_PROCESS_H_
#define ZKRECIPES_LIB_BASE_PROCESS_H_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

namespace zkrecipes::base {

// Remembers the process that created an object. A forked child inherits the object's memory but
// neither its threads nor the right to its socket: anything that it sends or closes there would act
// on the parent's session, and a mutex may have been copied while held. So in a child objects are
// only leaked.
class HomeProcess {
 public:
  HomeProcess() : number_(ThisProcess()) {}
  bool IsThisProcess() const { return ThisProcess() == number_; }

 private:
  // Another number than in any process that this one descends from by fork or clone. Not the
  // process id: the first child in a new PID namespace has number 1, as its parent may have.
  static uint64_t ThisProcess();

  uint64_t number_;
};

// The one T of this process. Never destroyed: a thread may outlive the end of main. A forked child,
// which has none of the threads, makes its own, and keeps its parent's reachable. Thread-safe.
template <typename T>
T& OfThisProcess() {
  struct One {
    const HomeProcess home = {};
    T value = {};
    const One* parents = nullptr;
  };
  static std::atomic<One*> current{nullptr};
  One* one = current.load();
  if (one != nullptr && one->home.IsThisProcess()) return one->value;
  One* const mine = new One{.parents = one};
  if (current.compare_exchange_strong(one, mine)) return mine->value;
  delete mine;  // another thread was first
  return one->value;
}

// Makes sure that this process never destroys what `pointer` shares. It stays reachable, so that a
// leak checker does not mistake it for an accident. Thread-safe.
inline void Leak(std::shared_ptr<void> pointer) {
  struct Kept {
    std::shared_ptr<void> pointer;
    Kept* next;
  };
  static std::atomic<Kept*> kept{nullptr};
  Kept* added = new Kept{std::move(pointer), kept.load()};
  while (!kept.compare_exchange_weak(added->next, added)) {
  }
}

// Writes a line to stderr. False: nobody reads a pipe, which is full or has lost its reader, or a
// terminal is stopped. The caller, which others may wait for, does not wait for that.
bool TellOnStderr(const char* what);

// Ends the process: a precondition was broken, and continuing would corrupt memory or break a
// promise.
[[noreturn]] inline void Die(const char* why) {
  TellOnStderr(why);
  std::abort();
}

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_PROCESS_H_
