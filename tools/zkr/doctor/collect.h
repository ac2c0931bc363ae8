// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_COLLECT_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_COLLECT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "lib/zk/seam/server_list.h"
#include "tools/zkr/commands/commands.h"
#include "tools/zkr/doctor/facts.h"
#include "zkrecipes/client.h"

// How the facts are collected: by whom a server is asked, and what of the tree.
namespace zkrecipes::zkr::doctor {

// By the server's name: a client whose session is with that server alone.
using Clients = std::map<std::string, std::shared_ptr<Client>>;

struct Probed {
  std::vector<ServerFacts> servers;  // in the list's order
  Clients clients;                   // of those that grant a session
};

// Asks each server by itself, all at the same time: for a session, by TLS where `flags` say so, and
// otherwise also srvr, conf, mntr and cons. By TLS the words stay unknown.
// A name with several addresses of a family is as many servers. Blocks for about a second if a
// server is silent or a name does not resolve, and never more than ten times as long.
// InvalidArgument: the flags are such that no client takes them.
absl::StatusOr<Probed> ProbeServers(const commands::GlobalFlags& flags, const zk::ServerList& list);

// Of one listed name's addresses, if they are of both families, those of the family of which more
// grant sessions (IPv4 if as many do): the others are the same servers once more, or dead where the
// servers listen on one family only. Pure.
std::vector<ServerFacts> OfOneFamily(std::vector<ServerFacts> of_a_name);

// Adds what the client's server shows of the epoch and, unless it is empty, of `path`: its queue
// and ACLs. What the ACLs do not show is no error.
// Blocks for some round trips. Errors: those of ListContenders.
absl::Status ReadTree(Client& client, const std::string& path, Facts& facts);

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

// ---- what servers say ---------------------------------------------------------------------------

// Reads the answers to four letter words, as servers from 3.4 on give them. Pure. What is not
// understood stays unknown.
void ReadSrvr(absl::string_view answer, ServerWords& words);
void ReadConf(absl::string_view answer, ServerWords& words);
void ReadMntr(absl::string_view answer, ServerWords& words);

// How long each session has been silent, by the server's own clock: `own_session` has just been
// answered. nullopt if it is not among them: the server is not open to cons.
std::optional<Connections> ReadCons(absl::string_view answer, std::int64_t own_session);

// "This ZooKeeper instance is not currently serving requests"
bool ServesNobody(absl::string_view answer);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_COLLECT_H_
