// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "lib/zk/seam/server_list.h"
#include "lib/zk/seam/types.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/partitions.h"
#include "tools/zkr/supervisor/process.h"
#include "zkrecipes/client.h"
#include "zkrecipes/contenders.h"
#include "zkrecipes/fencing_pass.h"

namespace zkrecipes::zkr::doctor {

// The facts that `zkr doctor` collects, not judged yet, and how it does. nullopt: not known.

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
  std::string data = {};  // empty also if it may not be read
  // Children of other recipes that hold beside a semaphore of ours.
  std::vector<std::string> blind = {};
  std::optional<Acl> acl = {};
  // By name. Of contenders the first kMostAcls in the queue: they are read one by one.
  std::map<std::string, std::optional<Acl>> children = {};
};
constexpr std::size_t kMostAcls = 100;

struct ThisMachine {
  std::string host = {};  // as owners write it; empty: not read
  // Those of /proc, and owners that it does not show though they have not ended.
  std::vector<supervisor::ProcessInfo> processes = {};
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
  std::vector<ContenderInfo> contenders = {};     // of PATH, in the queue's order
  std::optional<PartitionsView> partitions = {};  // of PATH; nullopt: it is no path of Partitions
  std::vector<Disagreement> disagreements = {};
  absl::Time now = {};  // by this machine's wall clock
  ThisMachine machine = {};
  std::optional<std::int64_t> epoch = {};  // of the ensemble
  std::string epoch_trouble = {};          // why it cannot be read, though there is a session
  bool epoch_denied = false;               // by its ACL
  std::optional<FencingPass> seen = {};    // --seen: token and epoch
};

// ---- How they are collected ---------------------------------------------------------------------

// By the server's name: a client whose session is with that server alone.
using Clients = std::map<std::string, std::shared_ptr<Client>>;

// Asks each server by itself, all at the same time: for a session, by TLS where `flags` say so, and
// otherwise also srvr, conf, mntr and cons. By TLS the words stay unknown.
// A name with several addresses of a family is as many servers. Blocks for about a second if a
// server is silent or a name does not resolve, and never more than ten times as long.
// Returns the clients of those that grant a session. InvalidArgument: the flags are such that no
// client takes them.
absl::StatusOr<Clients> ProbeServers(const commands::GlobalFlags& flags, const zk::ServerList& list,
                                     Facts& facts);

// Of one listed name's addresses, if they are of both families, those of the family of which more
// grant sessions (IPv4 if as many do): the others are the same servers once more, or dead where the
// servers listen on one family only. Pure.
std::vector<ServerFacts> OfOneFamily(std::vector<ServerFacts> of_a_name);

// Adds what a server shows of the epoch and, unless it is empty, of `path`: its queue and ACLs: the
// first one that does not die or fall silent meanwhile. What the ACLs do not show is no error.
// Blocks for some round trips, and for five seconds for each server that is silent. Errors: those
// of ListContenders, and Unavailable without a client.
absl::Status ReadTree(const Clients& clients, const std::string& path, Facts& facts);

// Which contenders of `path` some of the servers show and others do not, though these have applied
// later writes: each is asked by its client, behind a committed write. A queue that moves is no
// disagreement: what is missing was shown before and after. Servers that do not answer are left
// out.
std::vector<Disagreement> CompareServers(const Clients& clients, const std::string& path);

// Finds the disagreements of three such rounds, by server: `then` was asked when all of `before`
// had answered, and `after` likewise. Pure.
using ServersShow = std::map<std::string, std::set<std::string>>;
std::vector<Disagreement> Disagreements(const ServersShow& before, const ServersShow& then,
                                        const ServersShow& after);

// What the answers to srvr, conf and mntr say, one below the other, as servers from 3.4 on give
// them. Pure. What is not understood stays unknown.
ServerWords WordsIn(absl::string_view answers);

// How long each session has been silent, by the server's own clock: `own_session` has just been
// answered. nullopt if it is not among them: the server is not open to cons.
std::optional<Connections> ReadCons(absl::string_view answer, std::int64_t own_session);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_FACTS_H_
