// SPDX-License-Identifier: Apache-2.0
//
// What clients and servers say, as bytes: for tests that play one of them.

#ifndef ZKRECIPES_LIB_ZK_WIRE_WIRE_FIXTURE_H_
#define ZKRECIPES_LIB_ZK_WIRE_WIRE_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace zkrecipes::zk::wire {

inline std::string Number(uint64_t number, size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = size; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number);
  return bytes;
}
inline std::string Int(int32_t number) { return Number(static_cast<uint32_t>(number), 4); }
inline std::string Long(int64_t number) { return Number(static_cast<uint64_t>(number), 8); }
// Also a node's data.
inline std::string String(const std::string& text) {
  return absl::StrCat(Int(static_cast<int32_t>(text.size())), text);
}
inline std::string Names(const std::vector<std::string>& names) {
  std::string bytes = Int(static_cast<int32_t>(names.size()));
  for (const std::string& name : names) bytes += String(name);
  return bytes;
}
struct AclEntry {
  int32_t permissions;
  std::string scheme, id;
};
inline std::string Acl(const std::vector<AclEntry>& entries) {
  std::string bytes = Int(static_cast<int32_t>(entries.size()));
  for (const AclEntry& e : entries) {
    absl::StrAppend(&bytes, Int(e.permissions), String(e.scheme), String(e.id));
  }
  return bytes;
}
inline std::string Stat() { return Long(/*the czxid*/ 7) + std::string(60, '\0'); }

// In front of each operation of a multi, and of each of its answers; the last one is done.
inline std::string MultiHeader(int32_t type, bool done = false) {
  return absl::StrCat(Int(type), std::string(1, done ? '\1' : '\0'), Int(-1));
}

// A frame with its length in front.
inline std::string Frame(const std::string& body) { return String(body); }

// The client's.
inline std::string Handshake(int64_t session = 0) {
  return absl::StrCat(Int(0), Long(0), Int(10'000), Long(session), String(std::string(16, '\0')),
                      std::string(1, '\0'));
}
inline std::string Request(int32_t xid, int32_t type, const std::string& body = "") {
  return absl::StrCat(Int(xid), Int(type), body);
}

// The server's.
inline std::string Welcome(int64_t session, int32_t timeout_ms = 10'000) {
  return absl::StrCat(Int(0), Int(timeout_ms), Long(session), String(std::string(16, 'p')),
                      std::string(1, '\0'));
}
// ClickHouse Keeper's: an empty password, and not a word about being read-only.
inline std::string KeepersWelcome(int64_t session, int32_t timeout_ms = 10'000) {
  return absl::StrCat(Int(0), Int(timeout_ms), Long(session), String(std::string(16, '\0')));
}
inline std::string Reply(int32_t xid, const std::string& body = "", int32_t error = 0) {
  return absl::StrCat(Int(xid), Long(100), Int(error), body);
}
inline std::string Event(int32_t type, const std::string& path, int32_t state = 3) {
  return Reply(/*xid=*/-1, absl::StrCat(Int(type), Int(state), String(path)));
}

// ZooKeeper's numbers.
constexpr int32_t kDelete = 2;
constexpr int32_t kExists = 3;
constexpr int32_t kGetData = 4;
constexpr int32_t kSetData = 5;
constexpr int32_t kGetAcl = 6;
constexpr int32_t kGetChildren = 8;
constexpr int32_t kMulti = 14;
constexpr int32_t kCreate2 = 15;
constexpr int32_t kRemoveWatches = 18;
constexpr int32_t kCreateContainer = 19;
constexpr int32_t kPing = 11;
constexpr int32_t kSetAuth = 100;
constexpr int32_t kSetWatches = 101;
constexpr int32_t kPingXid = -2;
constexpr int32_t kAuthXid = -4;
constexpr int32_t kSetWatchesXid = -8;

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_WIRE_FIXTURE_H_
