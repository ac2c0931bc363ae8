// SPDX-License-Identifier: Apache-2.0
//
// One write of a contender's own node, with the operations that are to happen only if that node is
// still there, as a state machine: answers in, the next request out. No threads, no clock, no I/O.
// A write without operations is a leader's proclamation. OwnNodeTurns drives it.
//
//                 another version: a stranger wrote
//        +----------------------------------------+
//        |                                        |
//        v     the node as it is, none of ours    |
//   kLooking -------------------------------> kReady --Sent--> kSent --done, refused, gone-> kDone
//        ^ |                                                     |
//        | +-- our write is there, cannot be known, gone -> kDone | answer lost
//        +-------------------------------------------------------+
//
// The first operation sets the node's data, under the version that it has: so it fails if the node
// is gone, and if it succeeds it leaves a mark, the next version with this very data. After a lost
// answer the node is read behind a committed barrier, when nothing that was sent before can happen
// any more: the mark says that all of it has happened, the version of before that nothing has.

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_OWN_NODE_WRITE_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_OWN_NODE_WRITE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine {

// A contender's own node, as it was when its writer last knew.
struct OwnNode {
  std::string path;           // the server's
  int64_t czxid = 0;          // of this node, and
  zk::SessionId session = 0;  // its owner: another one at this path is a stranger's
  int32_t version = 0;
  std::string data;
};

// How a write ended.
struct WriteResult {
  enum class Kind {
    kWritten,       // all of it
    kRefused,       // nothing: see `code`
    kNodeGone,      // the lease is lost: another client has deleted its node
    kSessionEnded,  // likewise, and the node has gone with its session
    kLostAgain,     // nothing: each time its answer was lost, and it had not happened
    kUnclear,       // a stranger's later write, or an ACL, hides what became of it
  };
  Kind kind = Kind::kWritten;
  // kNodeGone, kSessionEnded: it may have been written before the node went.
  bool may_be_written = false;
  zk::Code code = zk::Code::kOk;  // kRefused, kUnclear: the server's answer
  int operation = kOwnNode;       // kRefused: which one it refused
  static constexpr int kOwnNode = -1;
};

class OwnNodeWrite {
 public:
  // The data to write, of the data that is there.
  using Data = std::function<std::string(const std::string&)>;
  enum class State { kReady, kSent, kLooking, kDone };

  OwnNodeWrite(Data data, std::vector<zk::Multi::Op> ops)
      : data_(std::move(data)), ops_(std::move(ops)) {}

  State state() const { return state_; }
  // Whether something was sent of which it is not known what became.
  bool open() const { return state_ == State::kSent || unresolved_; }
  const WriteResult& result() const { return result_; }  // REQUIRES: kDone

  // kReady -> kSent: what to send.
  zk::Request Send(const OwnNode& node);
  // kSent: the answer. Updates what is known of the node.
  void OnWritten(const zk::Reply& reply, OwnNode& node);
  // kLooking: the node, read behind a committed barrier that was confirmed.
  void OnRead(const zk::Reply& reply, OwnNode& node);

 private:
  void End(WriteResult result);
  void OnRefused(const zk::Reply& reply);
  void Resolve(const OwnNode& node);

  const Data data_;
  const std::vector<zk::Multi::Op> ops_;
  State state_ = State::kReady;
  bool unresolved_ = false;
  int losses_ = 0;
  int32_t sent_version_ = 0;  // of what was sent last: it replaces this version,
  std::string sent_data_;     // by this data
  WriteResult result_;
};

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_OWN_NODE_WRITE_H_
