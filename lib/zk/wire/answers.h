// SPDX-License-Identifier: Apache-2.0
//
// What a server's frames have to look like, without their length. Each function returns "", or what
// is wrong. Pure.

#ifndef ZKRECIPES_LIB_ZK_WIRE_ANSWERS_H_
#define ZKRECIPES_LIB_ZK_WIRE_ANSWERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace zkrecipes::zk::wire {

inline constexpr size_t kLength = 4;        // of what stands in front of each frame
inline constexpr size_t kReplyHeader = 16;  // xid, zxid, error

// The answer to a handshake that asked for a session, or for a new one (0). A session of 0 in
// answer to another one says that it has expired.
std::string WrongWelcome(absl::string_view frame, int64_t asked_session);

inline constexpr char kSpeaksTls[] = "it speaks TLS";  // see Conversation::WrongStart
// What a server does that hangs up on a session, and answers such a question.
inline constexpr char kRefusesSession[] =
    "refuses this session: the client has seen what the server has not, or has lost";

// A handshake (without its length) that asks only whether the server serves: for a session that
// does not exist, of a client that has seen nothing. A server answers that it has expired, and
// makes nothing. The same bytes if they are no handshake.
std::string AsQuestion(absl::string_view handshake);

// Whether that answer comes from ClickHouse Keeper, which grants a session whose password is all
// zeros: it never takes one up again, but answers with another one. ZooKeeper's passwords are
// random.
bool IsKeepersWelcome(absl::string_view frame);

// What follows a reply's header (xid, zxid, error) if there is no error. `type` is ZooKeeper's
// number of the operation that was asked; none passes that this library does not send.
std::string WrongAnswer(int32_t type, absl::string_view body);

// Whether the operation's request begins with the path of the node to make, and its answer with
// that of the node that was made.
bool IsCreate(int32_t type);

// Whether the operation's answer is as long as others made it.
bool MayBeLong(int32_t type);

inline constexpr int32_t kMultiType = 14;

// One operation of a multi, as far as its answer depends on it.
struct MultiOp {
  int32_t type = 0;  // ZooKeeper's number
  std::string path;  // the new node of a create has to have it
};

// What follows a multi's header (xid, type), as the C client sends it.
std::vector<MultiOp> ReadMulti(absl::string_view body);

// What follows the header of its answer: one for each operation, all of them done or none. The C
// client takes as many answers as the server sends, and looks for as many operations of its own:
// one answer too many aborts the process, one of another kind is read as what it is not. An answer
// that names no operation as the cause of its failure is wrong: the C client would take it for a
// success.
std::string WrongMultiAnswer(const std::vector<MultiOp>& asked, absl::string_view body);

// What follows the header of a watch event.
std::string WrongEvent(absl::string_view body);

// The error of a reply, not 0. Some codes a client only gives to itself: a server that sends one
// would be believed to be gone, while it is not.
std::string WrongError(int32_t code);

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_ANSWERS_H_
