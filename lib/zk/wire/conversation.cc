// SPDX-License-Identifier: Apache-2.0

#include "lib/zk/wire/conversation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

#include "lib/zk/wire/jute_reader.h"

namespace zkrecipes::zk::wire {
namespace {

// The reserved numbers of what is not an answer to a numbered request.
constexpr int32_t kEventXid = -1;
constexpr int32_t kPingXid = -2;
constexpr int32_t kCredentialsXid = -4;
constexpr int32_t kSetWatchesXid = -8;

constexpr int32_t kCloseType = -11;  // ends the session

constexpr int32_t kWelcome = 36;  // and a byte more, from 3.4 on

// What of a request is read: its length, then xid and type; of the handshake, what lies before the
// session, and the session.
constexpr size_t kRequestHead = kLength + 8;
constexpr size_t kHandshakeHead = kLength + 16 + 8;
constexpr size_t kPathLength = 4;  // of a create, in front of the path

// A listing of a million children with names of sixty bytes. Servers limit a request and a node's
// data to 1 MiB (jute.maxbuffer), raised to some tens at most, but not a listing: whoever may
// create nodes can make one that is longer, and must not cost others their connection.
constexpr int32_t kLongestReply = 64 << 20;

// How a port for TLS answers what is none: with an alert, of any version.
constexpr char kTlsAlert[] = "\x15\x03";

constexpr size_t kShown = 32;  // of what is no handshake, in a message

}  // namespace

void Conversation::Asked(absl::string_view bytes) {
  while (!bytes.empty()) {
    // In turns: what is left of the request before, then the head of the next one, as far as it is
    // needed. The C client writes a request in several pieces, and a piece may end anywhere.
    const size_t skipped = std::min(rest_, bytes.size());
    rest_ -= skipped;
    bytes.remove_prefix(skipped);
    const size_t taken = std::min(wanted_ - head_.size(), bytes.size());
    head_.append(bytes.data(), taken);
    bytes.remove_prefix(taken);
    if (head_.size() < wanted_) continue;
    // Only now it can be known how long the head is: its type says so, and of a create its path's
    // length.
    wanted_ = HeadSize();
    if (head_.size() < wanted_) continue;
    Begun();
    head_.clear();
    wanted_ = kRequestHead;
  }
}

// As far as it is known from what has come of it: a request's number and type, at least.
size_t Conversation::HeadSize() const {
  if (state_ == State::kSilent) return kHandshakeHead;
  JuteReader reader(head_);
  const int32_t size = reader.Int();
  reader.Int();  // the xid
  const int32_t type = reader.Int();
  if (type == kMultiType) return kLength + static_cast<size_t>(size);
  if (!IsCreate(type)) return kRequestHead;
  constexpr size_t kUpToPath = kRequestHead + kPathLength;
  return kUpToPath + (head_.size() < kUpToPath ? 0 : static_cast<size_t>(reader.Int()));
}

void Conversation::Begun() {
  JuteReader reader(head_);
  rest_ = kLength + static_cast<size_t>(reader.Int()) - head_.size();
  if (state_ == State::kSilent) {
    state_ = State::kHandshake;
    reader.Bytes(16);
    asked_session_ = reader.Long();
    return;
  }
  const int32_t xid = reader.Int();
  const int32_t type = reader.Int();
  // These have reserved numbers, and their answers come in no fixed place among the others.
  if (xid == kPingXid) {
    ++pings_;
  } else if (xid == kCredentialsXid) {
    ++credentials_;
  } else if (xid == kSetWatchesXid) {
    ++set_watches_;
  } else if (type == kMultiType) {
    asked_.push_back({.xid = xid, .type = type, .together = ReadMulti(reader.rest())});
  } else {
    asked_.push_back({xid, type, std::string(IsCreate(type) ? reader.String() : "")});
  }
}

std::string Conversation::WrongStart(absl::string_view said) const {
  const int32_t length = JuteReader(said).Int();
  if (state_ == State::kEstablished) {
    if (length >= static_cast<int32_t>(kReplyHeader)) return "";
    return absl::StrCat("it sends a reply of ", length, " bytes");
  }
  if (state_ == State::kHandshake && (length == kWelcome || length == kWelcome + 1)) return "";
  if (absl::StartsWith(said, kTlsAlert)) return kSpeaksTls;
  return absl::StrCat("it says \"", absl::CHexEscape(said.substr(0, kShown)), "\"");
}

bool Conversation::IsTooLong(absl::string_view said) {
  return JuteReader(said).Int() > kLongestReply;
}

// Its request has been answered by then: what follows is not read.
std::string Conversation::HearTooLong(absl::string_view header) {
  Request request;
  std::string wrong = TakeRequest(JuteReader(header).Int(), request);
  if (!wrong.empty() || MayBeLong(request.type)) return wrong;
  // Nothing would be known of what was written.
  return absl::StrCat("its answer to operation ", request.type, " is too long");
}

// A client that has a session is told by such a welcome that the server is of another ensemble: its
// address is a former server's, say. Whether there is any other is for the caller to find out.
std::string Conversation::WrongStartOfSession(absl::string_view frame) {
  with_keeper_ = IsKeepersWelcome(frame);
  if (!with_keeper_ || asked_session_ == 0) {
    std::string wrong = WrongWelcome(frame, asked_session_);
    serves_others_ = question_ && wrong.empty();
    if (!serves_others_) return wrong;
    return kRefusesSession;
  }
  return "is of another ensemble: it grants sessions without a password, as ClickHouse Keeper does";
}

std::string Conversation::Hear(absl::string_view frame) {
  if (state_ != State::kEstablished) {
    // Even if the welcome is wrong: then the connection ends, and with it this object's use.
    state_ = State::kEstablished;
    return WrongStartOfSession(frame);
  }
  JuteReader reader(frame);
  const int32_t xid = reader.Int();
  reader.Long();  // the zxid may be any
  const int32_t error = reader.Int();
  if (!reader.ok()) return "it sends a reply without a header";
  // The server then closes the connection, not the session.
  const auto code = static_cast<Code>(error);
  if (code == Code::kCredentialsRequired) {  // whatever was asked, a ping as well
    turned_away_ = code;
    return "serves only clients that have authenticated (enforce.auth or SASL)";
  }
  if (xid == kCredentialsXid && credentials_ > 0 && code == Code::kAuthFailed) {
    turned_away_ = code;
    return "refuses this client's credentials";
  }
  switch (xid) {
    case kEventXid:
      return WrongEvent(reader.rest());
    case kPingXid:
      return HearOwn(pings_, "a ping", reader.rest());
    case kCredentialsXid:
      return HearOwn(credentials_, "credentials", reader.rest());
    case kSetWatchesXid:
      return HearWatchesSet(error, reader.rest());
    default:
      return HearReply(xid, error, reader.rest());
  }
}

std::string Conversation::HearReply(int32_t xid, int32_t error, absl::string_view body) {
  Request request;
  std::string wrong = TakeRequest(xid, request);
  if (!wrong.empty() || request.type != kCloseType) {
    return wrong.empty() ? HearOutcome(request, error, body) : wrong;
  }
  session_ended_ = error == 0;
  return session_ended_ ? "" : "it does not end the session";
}

// The one that is answered next.
std::string Conversation::TakeRequest(int32_t xid, Request& request) {
  if (asked_.empty()) return absl::StrCat("it answers request ", xid, ", but none was asked");
  // At an answer out of order the C client would abort the process.
  if (xid != asked_.front().xid) {
    return absl::StrCat("it answers request ", xid, " instead of ", asked_.front().xid);
  }
  request = std::move(asked_.front());
  asked_.pop_front();
  return "";
}

std::string Conversation::HearOutcome(const Request& request, int32_t error,
                                      absl::string_view body) {
  // Whatever follows an error is read by no client.
  if (error != 0) return WrongError(error);
  if (request.type == kMultiType) return WrongMultiAnswer(request.together, body);
  std::string wrong = WrongAnswer(request.type, body);
  if (!wrong.empty() || !IsCreate(request.type)) return wrong;
  // A sequential node has the path that was asked for, and a number behind it.
  absl::string_view made = JuteReader(body).String();
  const bool asked = absl::ConsumePrefix(&made, request.path) &&
                     made.find_first_not_of("-0123456789") == made.npos;
  return asked ? "" : "it has made another node than it was asked for";
}

// The C client takes an error for a yes: watches would be believed that are not there.
std::string Conversation::HearWatchesSet(int32_t error, absl::string_view body) {
  if (set_watches_ == 0 || error == 0) return HearOwn(set_watches_, "setWatches", body);
  return absl::StrCat("did not set the watches again (", CodeName(static_cast<Code>(error)), ")");
}

std::string Conversation::HearOwn(int& asked, const char* what, absl::string_view body) {
  // It was never asked, so nothing in the C client waits for it.
  if (asked == 0) return absl::StrCat("it answers ", what, ", but was sent none");
  --asked;
  if (body.empty()) return "";
  return absl::StrCat("its answer to ", what, " is too long");
}

}  // namespace zkrecipes::zk::wire
