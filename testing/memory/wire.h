// SPDX-License-Identifier: Apache-2.0
//
// What is on its way between a client and a server of the ensemble in memory, as values.

#ifndef ZKRECIPES_TESTING_MEMORY_WIRE_H_
#define ZKRECIPES_TESTING_MEMORY_WIRE_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "lib/zk/seam/types.h"

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

// ---- To a server ----------------------------------------------------------------------------------

// The first on a connection: for a new session (0), or to go on with one.
struct Hello {
  zk::SessionId session = 0;
  absl::Duration timeout;
  int64_t seen_zxid = 0;                        // a server that is behind it refuses the connection
  std::vector<std::string> digest_credentials;  // each "user:password"
  std::vector<zk::AclEntry> acl;                // of every node created on this connection

  friend bool operator==(const Hello&, const Hello&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Hello& m) {
    return H::combine(std::move(h), m.session, m.timeout, m.seen_zxid, m.digest_credentials, m.acl);
  }
};

// Arms the session's watches again: one whose node came, went or changed after `since` fires at once.
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

// ---- To a client ----------------------------------------------------------------------------------

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

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_WIRE_H_
