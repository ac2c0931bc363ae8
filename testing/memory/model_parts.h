// SPDX-License-Identifier: Apache-2.0
//
// The parts of a ModelEnsemble, and the messages between a client and a server.

#ifndef ZKRECIPES_TESTING_MEMORY_MODEL_PARTS_H_
#define ZKRECIPES_TESTING_MEMORY_MODEL_PARTS_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/zk/seam/types.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {

namespace wire {

// A message hashes as the tuple of its members.
template <typename H, typename Message>
requires requires(const Message& m) { m.Tie(); }
H AbslHashValue(H h, const Message& m) { return H::combine(std::move(h), m.Tie()); }

struct Bare {  // a message that is nothing but its type
  auto Tie() const { return std::tie(); }
  friend bool operator==(const Bare&, const Bare&) = default;
};

// ---- To a server --------------------------------------------------------------------------------

// The first on a connection: for a new session (0), or to go on with one.
struct Hello {
  zk::SessionId session = 0;
  absl::Duration timeout;
  int64_t seen_zxid = 0;                        // a server that is behind it refuses the connection
  std::vector<std::string> digest_credentials;  // each "user:password"
  std::vector<zk::AclEntry> acl;                // of every node created on this connection

  auto Tie() const { return std::tie(session, timeout, seen_zxid, digest_credentials, acl); }
  friend bool operator==(const Hello&, const Hello&) = default;
};

// Arms the session's watches again: one whose node came, went or changed after `since` fires at
// once.
struct SetWatches {
  int64_t since = 0;
  std::vector<std::string> paths{};    // WatchNode
  std::vector<std::string> present{};  // WatchExists of a node that was there
  std::vector<std::string> absent{};   // and of one that was not

  auto Tie() const { return std::tie(since, paths, present, absent); }
  friend bool operator==(const SetWatches&, const SetWatches&) = default;
};

// A further user's "user:password", in whose name is also done what follows.
struct Credential {
  std::string digest;

  auto Tie() const { return std::tie(digest); }
  friend bool operator==(const Credential&, const Credential&) = default;
};

struct Ping : Bare {};
struct EndSession : Bare {};

struct Call {
  uint64_t id = 0;  // the client's: comes back with the reply
  zk::Request request;

  friend bool operator==(const Call&, const Call&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Call& m) {
    h = H::combine(std::move(h), m.id);
    if (const auto* multi = std::get_if<zk::Multi>(&m.request)) {
      for (const zk::Multi::Op& op : multi->ops) h = Add(std::move(h), op);
      return h;
    }
    return Add(std::move(h), m.request);
  }
  // A request, or an operation of a multi.
  template <typename H, typename Variant>
  static H Add(H h, const Variant& request) {
    h = H::combine(std::move(h), request.index(), zk::PathOf(request));
    if (const auto* create = std::get_if<zk::Create>(&request)) {
      return H::combine(std::move(h), create->data, create->mode);
    }
    if (const auto* set = std::get_if<zk::SetData>(&request)) {
      return H::combine(std::move(h), set->data, set->version);
    }
    if (const auto* del = std::get_if<zk::Delete>(&request)) {
      return H::combine(std::move(h), del->version);
    }
    if constexpr (std::is_same_v<Variant, zk::Request>) {
      if (const auto* remove = std::get_if<zk::RemoveWatches>(&request)) {
        return H::combine(std::move(h), remove->kind);
      }
    }
    return h;
  }
};

// ---- To a client --------------------------------------------------------------------------------

struct Welcome {
  zk::SessionId session = 0;
  absl::Duration timeout;  // as negotiated
  bool keepers = false;    // its password is all zeros

  auto Tie() const { return std::tie(session, timeout, keepers); }
  friend bool operator==(const Welcome&, const Welcome&) = default;
};

struct Expired : Bare {};  // instead of Welcome: the session that Hello named is gone
struct Pong : Bare {};     // of a Ping or SetWatches

struct Fired {
  std::string path;
  zk::WatchEvent what = zk::WatchEvent::kDeleted;
  int64_t zxid = -1;  // of the change; -1: it does not say

  auto Tie() const { return std::tie(path, what, zxid); }
  friend bool operator==(const Fired&, const Fired&) = default;
};

struct Answer {
  uint64_t id = 0;   // of the Call; 0: of EndSession
  int64_t zxid = 0;  // how far the server was
  zk::Reply reply;

  auto Tie() const {
    return std::tie(id, zxid, reply.code, reply.path, reply.stat, reply.data, reply.children,
                    reply.acl, reply.codes);
  }
  friend bool operator==(const Answer&, const Answer&) = default;
};

}  // namespace wire

using ToServer = std::variant<wire::Hello, wire::SetWatches, wire::Ping, wire::EndSession,
                              wire::Call, wire::Credential>;
using ToClient = std::variant<wire::Welcome, wire::Expired, wire::Pong, wire::Fired, wire::Answer>;

using ConnectionId = uint32_t;  // 0: none

// The quorum agrees on these one after another. A refused write is one as well (kError): that is
// what makes a delete of an absent node a committed barrier.
struct Transaction {
  enum class Kind {
    kError,
    kCreate,
    kDelete,
    kSetData,
    kSetAcl,
    kOpenSession,
    kCloseSession,
    kMulti
  };

  Kind kind = Kind::kError;
  int64_t zxid = 0;  // epoch << 32 | counter
  zk::SessionId session = 0;
  // Where the answer goes, once the server of that connection has applied this.
  ConnectionId connection = 0;
  uint64_t call = 0;

  zk::Code error = zk::Code::kOk;    // kError
  std::string path{};                // kCreate, kDelete, kSetData, kSetAcl
  Node node{};                       // kCreate; kSetData: its data; kSetAcl: its ACL
  int32_t parent_cversion = 0;       // kCreate: the parent's from then on
  absl::Duration timeout{};          // kOpenSession
  std::vector<Transaction> parts{};  // kMulti: creates, deletes and sets, with its zxid
  std::vector<zk::Code> codes{};     // of a multi's operations, done or refused

  friend bool operator==(const Transaction&, const Transaction&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Transaction& t) {
    return H::combine(std::move(h), t.kind, t.zxid, t.session, t.connection, t.call, t.error,
                      t.path, t.node, t.parent_cversion, t.timeout, t.parts, t.codes);
  }
};

// Calls f(change) for each change that is one, in order: for the parts of a multi instead of the
// whole.
template <typename F>
void ForEachChange(const Transaction& txn, F f) {
  if (txn.kind != Transaction::Kind::kMulti) return f(txn);
  for (const Transaction& part : txn.parts) f(part);
}

namespace parts {

// A part hashes as the tuple of its members.
template <typename H, typename Part>
requires requires(const Part& p) { p.Tie(); }
H AbslHashValue(H h, const Part& p) { return H::combine(std::move(h), p.Tie()); }

struct Server {
  bool serving = true;
  bool cut_off = false;
  base::BootTime gives_up;  // when cut off
  bool deaf = false;        // what the leader sends waits on its way
  bool mute = false;        // what it sends the leader does
  bool ping_waits = false;  // deaf, and a ping is among what waits
  bool still = false;       // stopped, or in a long garbage collection
  int moves = 0;            // to another address, so far
  size_t applied = 0;       // how many transactions since the beginning
  int64_t zxid = 0;
  Tree tree;

  auto Tie() const {
    return std::tie(serving, cut_off, gives_up, deaf, mute, ping_waits, still, moves, applied, zxid,
                    tree);
  }
  friend bool operator==(const Server&, const Server&) = default;
};

using ServerSet = std::bitset<32>;  // a bit for each server

// As the leader's tracker knows it.
struct Session {
  absl::Duration timeout;
  base::BootTime deadline;
  bool open = false;     // its opening is committed
  bool closing = false;  // its end is proposed
  int owner = -1;        // the server that may write for it
  bool due = false;      // too late to touch it, though its end is not proposed yet
  // A follower notes a touch, sends it when the leader pings, and so the leader hears of it. More
  // than one may: a server reads on from a connection that the client has given up.
  ServerSet noted;       // since the last ping
  ServerSet sent;        // on its way to the leader, on which it stalls
  ServerSet lost_touch;  // the last one

  auto Tie() const {
    return std::make_tuple(timeout, deadline, open, closing, owner, due, noted.to_ulong(),
                           sent.to_ulong(), lost_touch.to_ulong());
  }
  friend bool operator==(const Session&, const Session&) = default;
};

struct Connection {
  int server = 0;
  bool client_open = true;
  bool server_open = true;
  zk::SessionId session = 0;
  std::deque<ToServer> to_server;
  std::deque<ToClient> to_client;
  int unapplied = 0;  // writes of it that its server has not applied: reads wait for them
  std::set<zk::Watch> watches;
  std::vector<std::string> digest_ids;
  std::vector<zk::AclEntry> acl;

  friend bool operator==(const Connection&, const Connection&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Connection& c) {
    // Debian's absl hashes neither std::variant nor std::set.
    const auto add = [&h](const auto& m) { h = H::combine(std::move(h), m); };
    for (const ToServer& m : c.to_server) std::visit(add, m);
    for (const ToClient& m : c.to_client) std::visit(add, m);
    for (const zk::Watch& watch : c.watches) add(watch);
    return H::combine(std::move(h), c.to_server.size(), c.to_client.size(), c.watches.size(),
                      c.server, c.client_open, c.server_open, c.session, c.unapplied, c.digest_ids);
  }
};

}  // namespace parts

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_MODEL_PARTS_H_
