// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "lib/zk/seam/types.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/fencing_pass.h"

namespace zkrecipes::zkr::doctor {

// The facts that `zkr doctor` has collected, not judged yet. nullopt: not known.

// From a server's own words: srvr, and conf and mntr where the server is open to them.
struct ServerWords {
  // "leader", "follower", "observer", "standalone", "read-only".
  std::optional<std::string> mode = {};
  std::optional<absl::Duration> tick = {};
  std::optional<int> sync_limit = {};     // in ticks
  std::optional<int> voters = {};         // of the ensemble
  std::optional<int> in_sync = {};        // of them, the leader included; only the leader says it
  std::optional<std::int64_t> zxid = {};  // the last one that it has applied
};

// A session that is connected to a server, as cons shows it.
struct ConnectionFacts {
  std::string from = {};        // "10.0.0.7:53422"
  absl::Duration timeout = {};  // of the session
  absl::Duration silent = {};   // since the server last answered it
};
using Connections = std::map<std::int64_t, ConnectionFacts>;  // by session

struct ServerFacts {
  std::string name = {};     // as in the list of servers
  std::string address = {};  // numeric; empty if the name has none
  bool reachable = false;    // something listens there, and answers
  ServerWords words = {};
  // The session timeout that it grants for the one that was asked for. nullopt: it grants no
  // session.
  std::optional<absl::Duration> granted = {};
  std::string trouble = {};                     // why it is not reachable, or grants none
  std::optional<Connections> connections = {};  // nullopt: the server is not open to cons
};

using Acl = std::vector<zk::AclEntry>;

struct PathFacts {
  bool of_epoch = false;  // the parent of the epoch's record, which is its child here
  std::string path = {};
  bool exists = false;
  bool listed = false;  // false: this client may not list its children
  // nullopt: this client may not read it.
  std::optional<zk::Stat> stat = {};
  std::optional<Acl> acl = {};
  // By name. Of contenders the first kMostAcls in the queue: they are read one by one.
  std::map<std::string, std::optional<Acl>> children = {};
};
constexpr std::size_t kMostAcls = 100;

// This machine, and those of its processes that the path's owners name by host and pid, and the
// CMD of each that is a zkr.
struct ThisMachine {
  std::string host = {};  // as owners write it; empty: not read
  struct Process {
    std::string name = {};     // empty: /proc does not show it
    char state = '?';          // as ps shows it
    std::int64_t command = 0;  // CMD's pid; 0: none was seen
  };
  std::map<std::int64_t, Process> processes = {};  // by pid; one that has ended is not in it
};

// A contender that one server shows and another does not, though that one has applied later writes.
struct Disagreement {
  std::string node = {};
  std::string shown_by = {};
  std::string missing_at = {};
};

struct Facts {
  absl::Duration asked = {};            // --session-timeout
  std::vector<std::string> users = {};  // of the credentials that this client has given
  std::vector<ServerFacts> servers = {};
  std::optional<PathFacts> path = {};  // PATH
  std::optional<PathFacts> epoch_parent = {};
  std::vector<ContenderInfo> contenders = {};  // of PATH, in the queue's order
  std::vector<Disagreement> disagreements = {};
  absl::Time now = {};  // by this machine's wall clock
  ThisMachine machine = {};
  std::optional<std::int64_t> epoch = {};  // of the ensemble
  std::string epoch_trouble = {};          // why it cannot be read, though there is a session
  bool epoch_denied = false;               // by its ACL
  std::optional<FencingPass> seen = {};    // --seen: token and epoch
};

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_H_
