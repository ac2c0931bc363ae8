// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_EVENT_LOOP_H_
#define ZKRECIPES_EVENT_LOOP_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

namespace [[gnu::visibility("hidden")]] internal {
struct EventLoopAccess;
class Loop;
}  // namespace internal

// An I/O thread that several clients share (ClientOptions::loop): it handles all their requests,
// replies, watches and timers, one after another. Without it each client has a thread of its own.
// For processes with many clients, for example of different namespaces, credentials or ensembles;
// otherwise one client is enough, however many locks it has.
//
// This is not a way to run clients on an event loop of your own: the library always has a thread.
// To receive answers on your loop, give the client an Executor that posts tasks to it (executor.h).
//
// Callbacks run on the clients' executors as usual, so they hold nothing up, except those of
// InlineExecutor, which hold up all of these clients. The thread ends once the EventLoop and all of
// its clients are gone; any of them may go first, without blocking. It does not survive fork(): see
// Client.
class EventLoop {
 public:
  //   ResourceExhausted   no thread or file descriptor is available
  // Does not block.
  static absl::StatusOr<std::shared_ptr<EventLoop>> Start();

  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

 private:
  friend struct internal::EventLoopAccess;
  explicit EventLoop(std::shared_ptr<internal::Loop> loop) : loop_(std::move(loop)) {}
  const std::shared_ptr<internal::Loop> loop_;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_EVENT_LOOP_H_
