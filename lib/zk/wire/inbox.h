// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_WIRE_INBOX_H_
#define ZKRECIPES_LIB_ZK_WIRE_INBOX_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

#include "lib/base/process.h"
#include "lib/zk/wire/conversation.h"
#include "lib/zk/wire/tls_socket.h"
#include "zkrecipes/session_report.h"

namespace zkrecipes::zk::wire {

// Stands between the socket of one handle and the C client's recv(), for two reasons:
// - The C client believes what it reads. Here it gets whole frames only, and only those that are an
//   answer to what it has asked; at the first other one the connection ends. Of a reply that is too
//   long it gets the header alone, with kReplyTooLong as its error; the rest is skipped.
// - It reads each reply in two pieces, and then finds out that there is no other. Here one read
//   fetches all that the socket holds.
// Not thread-safe: for the thread of the loop.
class Inbox {
 public:
  // Replaces recv(). At most to the end of a frame; EAGAIN without a whole one, or before much more
  // of what is skipped; EPROTO once what the server said was refused.
  ssize_t Recv(int fd, char* bytes, size_t size);

  // Whether Recv has anything to give, or to say, or does not know. If not, the next one looks
  // again what the socket holds.
  bool MayHaveMore();
  // The last Recv has left off amid what it skips: TLS may hold more of it, which no poll sees.
  bool pauses() const { return pauses_; }

  // What the C client has sent on this connection.
  void Asked(absl::string_view bytes) { conversation_.Asked(bytes); }

  bool with_keeper() const { return conversation_.with_keeper(); }
  // The server has confirmed the end of the session.
  bool session_ended() const { return conversation_.session_ended(); }
  std::optional<Code> turned_away() const { return conversation_.turned_away(); }

  // Another socket: nothing was said on it yet.
  void Drop();

  // The handshake of the next connection is a question: see AsQuestion.
  void Question(bool question) { question_ = question; }
  bool asks() const { return question_; }
  bool established() const { return conversation_.established(); }
  bool serves_others() const { return conversation_.serves_others(); }

  // What is received on the next connection comes through `tls`; null: as it is.
  void Through(TlsSocket* tls) { tls_ = tls; }

  // Whether anything was received since the last call, and does not end with a whole frame.
  bool TakeProgress() { return std::exchange(grew_, false) && (to_skip_ > 0 || !said().empty()); }

  // "does not speak ZooKeeper: it says \"220 ...\"", or why the server will not have this client;
  // once for each connection that ended so; otherwise "".
  std::string TakeRefusal() { return std::exchange(refusal_, ""); }
  NoConnection refusal_cause() const { return refusal_cause_; }  // of the latest

 private:
  bool FindFrame();
  bool CutShort();
  bool Refuse(const std::string& why);
  ssize_t Fill(int fd);
  void MakeRoom();
  absl::string_view said() const { return {buffer_.data() + begin_, end_ - begin_}; }

  const base::HomeProcess home_;
  Conversation conversation_;
  TlsSocket* tls_ = nullptr;
  bool question_ = false;
  std::string refusal_;
  NoConnection refusal_cause_ = NoConnection::kRejected;
  bool refused_ = false;

  std::vector<char> buffer_;
  size_t begin_ = 0;  // what the C client has not taken yet: [begin_, end_)
  size_t end_ = 0;
  size_t accepted_ = 0;  // the rest of the frame that the C client is taking
  size_t to_skip_ = 0;   // behind that: the rest of a reply that was too long
  bool pauses_ = false;
  bool drained_ = false;  // the latest read left nothing in the socket
  bool grew_ = false;     // see TakeProgress
};

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_INBOX_H_
