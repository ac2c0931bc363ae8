// SPDX-License-Identifier: Apache-2.0
//
// What is on its way between a client and a server of the ensemble in memory, as values.

#ifndef ZKRECIPES_TESTING_MEMORY_WIRE_H_
#define ZKRECIPES_TESTING_MEMORY_WIRE_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "lib/zk/types.h"

namespace zkrecipes::testing::memory {

// ---- To a server ----------------------------------------------------------------------------------

namespace wire {
// The first on a connection: for a new session (0), or to go on with one.
struct Hello {
  zk::SessionId session = 0;
  absl::Duration timeout;
  int64_t seen_zxid = 0;           // a server that is behind it refuses the connection
  std::string digest_credentials;  // "user:password", or empty
  std::vector<zk::AclEntry> acl;   // of every node created on this connection

  friend bool operator==(const Hello&, const Hello&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Hello& m) {
    for (const zk::AclEntry& entry : m.acl) {
      h = H::combine(std::move(h), entry.permissions, entry.scheme, entry.id);
    }
    return H::combine(std::move(h), m.session, m.timeout, m.seen_zxid, m.digest_credentials);
  }
};

// Arms the session's watches again: one whose node came, went or changed after `since` fires at once.
struct SetWatches {
  int64_t since = 0;
  std::vector<std::string> paths{};    // WatchNode
  std::vector<std::string> present{};  // WatchExists of a node that was there
  std::vector<std::string> absent{};   // and of one that was not

  friend bool operator==(const SetWatches&, const SetWatches&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const SetWatches& m) {
    return H::combine(std::move(h), m.since, m.paths, m.present, m.absent);
  }
};

struct Ping {
  friend bool operator==(const Ping&, const Ping&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Ping&) {
    return h;
  }
};

struct EndSession {
  friend bool operator==(const EndSession&, const EndSession&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const EndSession&) {
    return h;
  }
};

struct Call {
  uint64_t id = 0;  // the client's: comes back with the reply
  zk::Request request;

  friend bool operator==(const Call&, const Call&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Call& m) {
    h = H::combine(std::move(h), m.id, m.request.index(), zk::PathOf(m.request));
    if (const auto* create = std::get_if<zk::Create>(&m.request)) {
      return H::combine(std::move(h), create->data, create->mode);
    }
    if (const auto* remove = std::get_if<zk::RemoveWatches>(&m.request)) {
      return H::combine(std::move(h), remove->kind);
    }
    if (const auto* set = std::get_if<zk::SetData>(&m.request)) {
      return H::combine(std::move(h), set->data, set->version);
    }
    return h;
  }
};
}  // namespace wire

using ToServer =
    std::variant<wire::Hello, wire::SetWatches, wire::Ping, wire::EndSession, wire::Call>;

namespace wire {  // where the search for it looks: absl of this age knows no std::variant
template <typename H>
H AbslHashValue(H h, const ToServer& message) {
  h = H::combine(std::move(h), message.index());
  return std::visit([&h](const auto& m) { return H::combine(std::move(h), m); }, message);
}
}  // namespace wire

// ---- To a client ----------------------------------------------------------------------------------

namespace wire {
struct Welcome {
  zk::SessionId session = 0;
  absl::Duration timeout;  // as negotiated

  friend bool operator==(const Welcome&, const Welcome&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Welcome& m) {
    return H::combine(std::move(h), m.session, m.timeout);
  }
};

struct Expired {  // instead of Welcome: the session that Hello named is gone
  friend bool operator==(const Expired&, const Expired&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Expired&) {
    return h;
  }
};

struct Pong {  // of a Ping or SetWatches
  friend bool operator==(const Pong&, const Pong&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Pong&) {
    return h;
  }
};

struct Fired {
  std::string path;
  zk::WatchEvent what = zk::WatchEvent::kDeleted;

  friend bool operator==(const Fired&, const Fired&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Fired& m) {
    return H::combine(std::move(h), m.path, m.what);
  }
};

struct Answer {
  uint64_t id = 0;   // of the Call; 0: of EndSession
  int64_t zxid = 0;  // how far the server was
  zk::Reply reply;

  friend bool operator==(const Answer&, const Answer&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Answer& m) {
    return H::combine(std::move(h), m.id, m.zxid, m.reply.code, m.reply.path, m.reply.stat,
                      m.reply.data, m.reply.children);
  }
};
}  // namespace wire

using ToClient = std::variant<wire::Welcome, wire::Expired, wire::Pong, wire::Fired, wire::Answer>;

namespace wire {
template <typename H>
H AbslHashValue(H h, const ToClient& message) {
  h = H::combine(std::move(h), message.index());
  return std::visit([&h](const auto& m) { return H::combine(std::move(h), m); }, message);
}
}  // namespace wire

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_WIRE_H_
