// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_WIRE_CONVERSATION_H_
#define ZKRECIPES_LIB_ZK_WIRE_CONVERSATION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

#include "lib/zk/seam/code.h"
#include "lib/zk/wire/answers.h"

namespace zkrecipes::zk::wire {

// One connection, as what was asked on it and not answered yet: judges whether what the server says
// next is an answer. The C client takes what it expects for granted, and reads past the end of a
// frame, frees what it never allocated, or aborts the process if it is wrong.
//
//   kSilent --Asked: the handshake--> kHandshake --Hear: a session--> kEstablished
//
// Pure: no I/O, no clock. Functions that judge return "", or what is wrong; after that nothing that
// the server says is worth hearing. "it ..." or "its ...": it does not speak ZooKeeper. Otherwise
// it does, and fails the client: "did not set the watches again ...".
class Conversation {
 public:
  // What the C client has sent, in order and in pieces of any size.
  void Asked(absl::string_view bytes);

  // The handshake is a question: of its answer it only matters that there is one.
  void Question() { question_ = true; }

  // What the server has said since its last whole frame: at least the four bytes of a length.
  std::string WrongStart(absl::string_view said) const;

  // The next whole frame, without its length.
  std::string Hear(absl::string_view frame);

  // Whether the next frame, of which `said` is the beginning, is longer than any that is read. It
  // need not come whole: HearTooLong judges its header.
  static bool IsTooLong(absl::string_view said);
  std::string HearTooLong(absl::string_view header);

  // It is with ClickHouse Keeper: see IsKeepersWelcome.
  bool with_keeper() const { return with_keeper_; }
  bool established() const { return state_ == State::kEstablished; }
  // The server has answered the question: it serves.
  bool serves_others() const { return serves_others_; }
  // The server has confirmed the end of the session, as it was asked to.
  bool session_ended() const { return session_ended_; }
  // The server has said that it will not, for want of credentials or because of them: this code.
  std::optional<Code> turned_away() const { return turned_away_; }

 private:
  enum class State { kSilent, kHandshake, kEstablished };
  struct Request {
    int32_t xid = 0;
    int32_t type = 0;
    std::string path{};               // of a create: the new node's has to begin with it
    std::vector<MultiOp> together{};  // of a multi: the whole of it is read
  };

  size_t HeadSize() const;
  void Begun();
  std::string WrongStartOfSession(absl::string_view frame);
  std::string HearReply(int32_t xid, int32_t error, absl::string_view body);
  std::string TakeRequest(int32_t xid, Request& request);
  static std::string HearOutcome(const Request& request, int32_t error, absl::string_view body);
  std::string HearWatchesSet(int32_t error, absl::string_view body);
  static std::string HearOwn(int& asked, const char* what, absl::string_view body);

  State state_ = State::kSilent;
  int64_t asked_session_ = 0;
  bool question_ = false;
  bool serves_others_ = false;
  bool with_keeper_ = false;
  std::optional<Code> turned_away_;
  bool session_ended_ = false;

  // The request that is being sent: what matters of it is kept, the rest is counted.
  std::string head_;
  size_t wanted_ = 0;  // of it, as far as that is known
  size_t rest_ = 0;

  std::deque<Request> asked_;  // the oldest first: they are answered in order
  // The C client's own requests have no numbers, and their answers no place in that order.
  int pings_ = 0;
  int credentials_ = 0;
  int set_watches_ = 0;
};

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_CONVERSATION_H_
