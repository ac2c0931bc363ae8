// SPDX-License-Identifier: Apache-2.0
//
// A client's sessions, one after another, as a state machine: events in, actions out; a copyable
// value with a complete hash. session.h drives it.
//
//   kNew --Start--> kResolving --Resolved--> kConnecting --Connected--> kConnected
//                    ^  ^   |                   |     |                 |      ^
//          PauseOver |  |   | ResolveFailed     |  |  |    Disconnected |      | Connected
//                    |  |   v                   |  |  |                 v      |
//                   kPausing <--- Ended --------+  |  |                kSuspended
//                       |                          |  |                    |
//                       +------ a round failed ----+  |                    |
//                       +--------- Ended: expired ----|--------------------+
//                                                     |                    |
//                     kFailed <--- Ended: refused ----+--------------------+
//                        |         (by every server of the list, if the client may go on)
//                        +--TriedAgain--> kPausing
//
//   any --CloseRequested--> kClosing --EndAnswered: confirmed, or CloseTimeOver--> kClosed
//
// A connected session that is not needed any more is suspended and asks to be ended, too
// (Unneeded); another one follows it, as after an expiry. Once a closing session is drained it asks
// to be ended on each connection; without a session, also one that expires meanwhile, it is closed
// at once.
//
// Names follow the servers: they are resolved again when the connection is lost, and after each
// round of failed attempts, and the open handle goes on with what is found (SetServers): the
// session stays, also if every server has moved. A connection that there is by then stays, too: an
// answer may be partial, or a rotating choice of the servers.
//
// The list of servers may be replaced in any state (ServersChanged). An open handle, and with it
// the session, goes on with the new servers once their names are resolved.

#ifndef ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_H_
#define ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_H_

#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "lib/zk/seam/types.h"

namespace zkrecipes::session::machine {

namespace event {
struct Start {};
struct Resolved {        // the servers' names, to addresses
  bool complete = true;  // all names; otherwise it comes again when more of them are known
  bool unsure = false;   // complete, but some names could not be resolved for now
};
struct ResolveFailed {};
struct OpenFailed {};  // no handle could be opened
struct TriedAgain {};  // though it was refused for good
struct ServersChanged {
  int servers = 0;  // their number
};
struct PauseOver {};
struct Connected {
  zk::SessionId session = 0;
};
struct Disconnected {
  int attempt = 0;  // failed attempts since it was last connected
};
struct HandleEnded {
  zk::Code why = zk::Code::kOk;
  bool served = false;    // a server has answered a request of its session
  bool by_every = false;  // server of the list it is refused by now, for good
  bool goes_on = false;   // the client does, by another session
};
struct CloseRequested {};
struct Drained {};  // nothing is left to send
// No lease rests on the session, in which are nodes that the servers do not let be deleted: its end
// deletes them.
struct Unneeded {};
struct EndAnswered {       // to EndSession
  bool confirmed = false;  // by the server; otherwise the connection is lost
};
struct CloseTimeOver {};  // the time for all of it
}  // namespace event

using Event =
    std::variant<event::Start, event::Resolved, event::ResolveFailed, event::OpenFailed,
                 event::PauseOver, event::Connected, event::Disconnected, event::HandleEnded,
                 event::CloseRequested, event::Drained, event::ServersChanged, event::EndAnswered,
                 event::CloseTimeOver, event::Unneeded, event::TriedAgain>;

namespace action {
struct Resolve {};
struct OpenHandle {};
struct CloseHandle {};
struct SetServers {    // of the open handle, to those resolved last
  bool leave = false;  // a connection to a server that is not among them
};
struct StartPause {};
struct AnnounceConnected {
  zk::SessionId session = 0;
  bool resumed = false;  // the same session as before, with its nodes and watches
};
struct AnnounceDisconnected {};  // connection lost; the session may live
struct AnnounceExpired {         // the session has ended; a new one follows
  bool confirmed = false;        // the server has said so to EndSession
};
struct AnnounceFailed {  // refused for good: there will be no session, unless it is tried again
  zk::Code why = zk::Code::kOk;
};
struct Drain {};           // let all listeners leave, then event::Drained
struct EndSession {};      // on the server, then event::EndAnswered
struct AnnounceClosed {    // last
  bool confirmed = false;  // there is no session any more; otherwise it ends by itself
};
}  // namespace action

using Action =
    std::variant<action::Resolve, action::OpenHandle, action::CloseHandle, action::StartPause,
                 action::AnnounceConnected, action::AnnounceDisconnected, action::AnnounceExpired,
                 action::AnnounceFailed, action::Drain, action::AnnounceClosed, action::SetServers,
                 action::EndSession>;
using Actions = std::vector<Action>;

class SessionMachine {
 public:
  enum class State {
    kNew,
    kResolving,
    kPausing,     // between two attempts to resolve names or to be given a session
    kConnecting,  // a handle is open and has no session yet
    kConnected,
    kSuspended,  // has a session and no connection
    kFailed,     // refused for good
    kClosing,
    kClosed,
  };

  // `servers`: their number. After a failed round over them the names are resolved again.
  explicit SessionMachine(int servers) : servers_(servers) {}

  // Total: any event may come in any state.
  Actions On(const Event& event);

  State state() const { return state_; }
  bool connected() const { return connected_; }
  zk::SessionId session() const { return session_; }  // 0: none

 private:
  class Transition;
  auto Tie() const {
    return std::tie(servers_, state_, connected_, handle_open_, resolving_, servers_due_, drained_,
                    session_, given_up_, served_);
  }

  int servers_;
  State state_ = State::kNew;
  bool connected_ = false;  // also while closing
  bool handle_open_ = false;
  bool resolving_ = false;    // names, while a handle is open
  bool servers_due_ = false;  // the open handle is to get the changed servers
  bool drained_ = false;      // closing: to be ended as soon as there is a connection
  zk::SessionId session_ = 0;
  bool given_up_ = false;  // the session before: no server has said that it has ended
  bool served_ = false;    // there has been a session

 public:
  friend bool operator==(const SessionMachine& a, const SessionMachine& b) {
    return a.Tie() == b.Tie();
  }
  template <typename H>
  friend H AbslHashValue(H h, const SessionMachine& m) {
    return H::combine(std::move(h), m.Tie());
  }
};

}  // namespace zkrecipes::session::machine

#endif  // ZKRECIPES_LIB_SESSION_MACHINE_SESSION_MACHINE_H_
