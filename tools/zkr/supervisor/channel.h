// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_SUPERVISOR_CHANNEL_H_
#define ZKRECIPES_TOOLS_ZKR_SUPERVISOR_CHANNEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/boot_time.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::zkr::supervisor {

// The messages between zkr, the guard, the runner, and CMD's process before its exec.
enum class MessageKind : std::int32_t {
  // zkr to the guard
  kStart,  // run CMD. value: 1 if it gets the terminal. text: "NAME=VALUE\0" each, added to its
           // environment. passed: the runner's channel to zkr
  kAlive,  // value: CLOCK_BOOTTIME in ns; CMD may live until then without another kAlive
  kKill,   // end CMD's whole tree now
  // zkr to the runner
  kSignal,  // value: a signal, for CMD's process group; second: its sender
  kPassOn,  // likewise, of a signal that zkr was sent: unless it reached CMD, too (Relay)
  kResume,  // value: 1 if CMD gets the terminal back; then SIGCONT to its process group
  // CMD's process to zkr, before the exec
  kForked,  // value: CMD's pid, which is its process group, too
  // the runner to zkr
  kStarted,     // the exec succeeded. value: the runner's pid
  kExecFailed,  // value: errno
  kStopped,     // value: the signal that stopped CMD
  kEnded,       // value: CMD's status in the form of waitpid; second: how many a kPassOn the runner
                // had read by then. text: a byte for each kPassOn that CMD was not sent
  // the guard to zkr
  kDeadlinePassed,  // no kAlive came in time: the tree is being killed
  kRunnerFailed,    // value: errno of the fork that failed
  kTreeEnded,       // nothing of the tree is left, and CMD may be run again (Command::again)
};

struct Message {
  MessageKind kind = MessageKind::kKill;
  std::int64_t value = 0;
  std::string text = {};
  base::UniqueFd passed = {};  // the receiver gets a copy
  std::int32_t second = 0;     // of a kind that has two values

  base::BootTime sent = {};  // when the sender sent it; filled in by Receive
};

struct ChannelPair;

// One end of a SOCK_SEQPACKET socketpair: whole messages, in order, and an end of the stream once
// no process holds the other side. Close-on-exec. Not thread-safe.
class Channel {
 public:
  Channel() = default;
  explicit Channel(base::UniqueFd fd) : fd_(std::move(fd)) {}
  // An invalid pair if the system refuses; errno says why.
  static ChannelPair Pair();

  // False if the other side is gone. Blocks while the socket's buffer is full.
  bool Send(const Message& message) const;

  // False if the other side is gone, or stopped for so long that the buffer is full. Never blocks.
  bool TrySend(const Message& message) const;

  // Blocks until a message or the end comes. nullopt: no process holds the other side,
  // and all that was sent has been received.
  std::optional<Message> Receive() const;

  int fd() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  void Close() { fd_.reset(); }
  base::UniqueFd Take() { return std::move(fd_); }

 private:
  bool SendWithFlags(const Message& message, int flags) const;

  base::UniqueFd fd_;
};

struct ChannelPair {
  Channel one;
  Channel other;
};

}  // namespace zkrecipes::zkr::supervisor

#endif  // ZKRECIPES_TOOLS_ZKR_SUPERVISOR_CHANNEL_H_
