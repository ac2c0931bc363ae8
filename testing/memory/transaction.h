// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_TRANSACTION_H_
#define ZKRECIPES_TESTING_MEMORY_TRANSACTION_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/time/time.h"

#include "lib/zk/types.h"
#include "testing/memory/tree.h"

namespace zkrecipes::testing::memory {

using ConnectionId = uint32_t;  // 0: none

// What the quorum agrees on, one after another. A refused write is one as well (kError): that is
// what makes a delete of an absent node a committed barrier.
struct Transaction {
  enum class Kind { kError, kCreate, kDelete, kSetData, kOpenSession, kCloseSession };

  Kind kind = Kind::kError;
  int64_t zxid = 0;  // epoch << 32 | counter
  zk::SessionId session = 0;
  // Where the answer goes, once the server of that connection has applied this.
  ConnectionId connection = 0;
  uint64_t call = 0;

  zk::Code error = zk::Code::kOk;  // kError
  std::string path{};              // kCreate, kDelete, kSetData
  Node node{};                     // kCreate; kSetData: its data
  int32_t parent_cversion = 0;     // kCreate: the parent's from then on
  absl::Duration timeout{};        // kOpenSession

  friend bool operator==(const Transaction&, const Transaction&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Transaction& t) {
    return H::combine(std::move(h), t.kind, t.zxid, t.session, t.connection, t.call, t.error,
                      t.path, t.node, t.parent_cversion, t.timeout);
  }
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_TRANSACTION_H_
