// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_CHECKER_TRANSACTION_LOG_H_
#define ZKRECIPES_VERIFICATION_CHECKER_TRANSACTION_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace zkrecipes::history {

// The changes that one transaction of ZooKeeper's made to the tree.
struct Transaction {
  struct Change {
    enum class What { kCreated, kDeleted };
    What what = What::kCreated;
    std::string path;
    bool ephemeral = false;  // kCreated: it goes with the session
  };

  int64_t zxid = 0;
  int64_t time_ms = 0;  // of the leader's wall clock, when it took the request up
  int64_t session = 0;  // that asked; of a session's end: the one that ends
  bool ends_session = false;
  // In order; empty for what changes no names. Of a session's end what its record lists: all of its
  // ephemeral nodes, or nothing if the servers do not write that (closeSessionTxn.enabled=false).
  std::vector<Change> changes = {};
};

// Reads one file of a server's transaction log ("log.100000001") in the format of ZooKeeper 3.4 to
// 3.9. It ends at the padding, or at a record that was not written out: its server was killed.
//   InvalidArgument  no transaction log
//   DataLoss         a record in the middle does not have its checksum, or cannot be read
absl::StatusOr<std::vector<Transaction>> ReadTransactionLog(const std::string& bytes);

// One member's log, and the names of its snapshots.
struct MemberLog {
  std::vector<Transaction> transactions;  // by zxid
  std::vector<int64_t> snapshots;         // the zxids in the names of its "snapshot.100000001"
};

// Reads the files of several members, and puts together what they say. A directory holds one
// member's files; of its snapshots only the names are read. Blocks for as long as it takes.
//   NotFound  a file cannot be read; other errors as above, with the path
absl::StatusOr<std::vector<Transaction>> ReadTransactionLogs(const std::vector<std::string>& files);

// One history out of the members', by zxid.
//
// Proposals that were not committed when their leader fell stay in the logs of the members that
// wrote them down (even two of three), unless the next leader tells these to truncate: that leader
// itself, and a member that is sent a snapshot, keep them. So a transaction is left out if some
// member's log skips it, going from the one before to the first of a later epoch. But a member that
// was sent a snapshot skips committed ones, too; it then has that snapshot in its directory.
// Nothing is concluded from a member that has none.
std::vector<Transaction> UnionOf(const std::vector<MemberLog>& members);

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_CHECKER_TRANSACTION_LOG_H_
