// SPDX-License-Identifier: Apache-2.0
//
// One path: its queue, and the ACLs of its node and its children.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "lib/queue/machine/node_name.h"
#include "lib/queue/machine/permits.h"
#include "lib/session/epoch_record.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

using Names = std::vector<std::string>;

// ---- The queue ---------------------------------------------------------------------------------

void JudgeNumbers(const PathFacts& path, Findings& found) {
  using enum commands::Numbers::State;
  if (!path.stat) return;
  const commands::Numbers numbers = commands::NumbersOf(*path.stat);
  if (numbers.Judge() == kPlenty) return;
  // Used up is refused already; running out leaves time to plan.
  const bool out = numbers.Judge() == kUsedUp;
  found.push_back(
      {kCertain, out ? "numbers-used-up" : "numbers-running-out", path.path,
       absl::StrCat(numbers.used, " of ", commands::Numbers::kAll, " sequence numbers are used",
                    out ? ": new contenders are refused" : ""),
       "give all its clients another path at the same time: stop all of them before the first "
       "starts with the new one"});
}

void JudgeOrphans(const Facts& facts, const PathFacts& path, Findings& found) {
  Names persistent;
  bool can_be_broken = true;
  // By session, too: a contender that came back in a new one has left its old node to the end of
  // the old session.
  std::map<std::pair<std::string, std::int64_t>, Names> by_guid;
  for (const ContenderInfo& c : facts.contenders) {
    // Of a node that this client may not read the session is not known.
    if (!IsRead(c)) continue;
    if (c.session == 0) persistent.push_back(c.node);
    can_be_broken &= c.session != 0 || CanBeBroken(facts, c);
    by_guid[{queue::machine::ParseNodeName(c.node)->guid, c.session}].push_back(c.node);
  }
  // Somebody made it by hand, or by a create without the ephemeral flag.
  if (!persistent.empty()) {
    found.push_back(
        {kCertain, "orphan-persistent", path.path,
         absl::StrCat(NameSome(persistent), persistent.size() == 1 ? " is" : " are",
                      " not ephemeral: no session's end removes it, and what queues behind it waits"
                      " for ever"),
         absl::StrCat("if it is nobody's, break it (zkr break ", path.path,
                      " --token N, as zkr ls shows it)",
                      can_be_broken ? "" : "; of several with one token delete it by its name")});
  }
  for (const auto& [owner, names] : by_guid) {
    if (names.size() < 2) continue;
    found.push_back(
        {kCertain, "orphan-twin", path.path,
         absl::StrCat("one contender has ", names.size(), " nodes: ", NameSome(names),
                      "; it knows of one, and releases no other while its session lives"),
         "let its process leave the queue or end; then break what is left (zkr break)"});
  }
}

const char* Held(const ContenderInfo& c) {
  return IsPermit(c) ? "its permit" : IsMember(c) ? "its place in the group" : "the lock";
}

// A contender whose number is not the path's is refused, but those that hold stay.
void JudgePermits(const Facts& facts, const PathFacts& path, Findings& found) {
  const bool queued = std::ranges::any_of(facts.contenders, IsPermit);
  // kazoo's Semaphore writes the number, too.
  if (!path.blind.empty() && (queued || queue::machine::ParsePermits(path.data))) {
    found.push_back({kLikely, "blind-contender", path.path,
                     absl::StrCat(NameSome(path.blind),
                                  ": of another recipe, which does not count permits of this one:"
                                  " both together may hold more than there are"),
                     "let only one of the recipes use this path"});
  }
  // Empty: the next contender writes its own.
  if (!queued || path.data.empty()) return;
  const std::optional<int> number = PermitsOf(facts);
  if (!number) {
    found.push_back(
        {kCertain, "permits-no-number", path.path,
         absl::StrCat("its data, \"", Printable(path.data, 40),
                      "\", are no number of permits from 1 to ", queue::machine::kMostPermits,
                      ": those that hold go on, all others are refused"),
         "use another path or, if nothing needs these data, set them to the number that its "
         "contenders come with (zkr ls --json)"});
    return;
  }
  Names others;
  for (const ContenderInfo& c : facts.contenders) {
    if (!IsPermit(c) || !IsRead(c) || c.permits == *number) continue;
    others.push_back(
        absl::StrCat(c.node, c.permits == 0 ? " (none)" : absl::StrCat(" (", c.permits, ")")));
  }
  if (others.empty()) return;
  found.push_back(
      {kLikely, "permits-differ", path.path,
       absl::StrCat("its data name ", *number, *number == 1 ? " permit" : " permits", ", and ",
                    NameSome(others),
                    " came with another number: they hold from before a change, or are about to be"
                    " refused; until they end as many hold as the larger number allows"),
       absl::StrCat("give all contenders the same number (zkr lock --permits ", *number,
                    "), or set the path's data; those that hold keep theirs to their end")});
}

// The owner wrote its host and pid itself: a hint, no proof.
void JudgeProcesses(const Facts& facts, const PathFacts& path, Findings& found) {
  Names gone;
  for (const ContenderInfo& c : facts.contenders) {
    const auto pid = c.owner.pid;
    const auto [owner, command] = ProcessesOf(facts, c.owner);
    if (IsHere(facts, c.owner) && !owner) gone.push_back(absl::StrCat(c.node, " (pid ", pid, ")"));
    const bool itself = IsStopped(owner);
    // A waiter that is stopped holds up those behind it only when its turn comes.
    if (!c.holds || (!itself && !IsStopped(command))) continue;
    found.push_back(
        {kLikely, "holder-stopped", path.path,
         absl::StrCat("the holder names process ", pid, ", and ",
                      itself ? "that process" : absl::StrCat("its command, ", command->pid, ","),
                      " of this machine (", Printable((itself ? owner : command)->name),
                      ") is stopped: it does no work, and ", Held(c), " is not free before ",
                      itself ? "its session ends" : "it goes on",
                      "; a process of a container may have the same number"),
         absl::StrCat("kill -CONT ", pid, " lets it go on; kill -TERM ", pid, "; kill -CONT ", pid,
                      " ends it gently")});
  }
  if (gone.empty()) return;
  found.push_back(
      {kLikely, "orphan-process", path.path,
       absl::StrCat("the owner that ", NameSome(gone),
                    " names is no process of this machine, unless one of a container"),
       "wait for a session timeout; if it is still there, and no container of this machine has "
       "that process, break it (zkr break)"});
}

// A holder that may be at work elsewhere, cut off from the servers: of a process of this machine
// that is stopped more is known.
void JudgeSilence(const Facts& facts, const PathFacts& path, Findings& found) {
  for (const ContenderInfo& c : facts.contenders) {
    const Life life = LifeOf(facts, c);
    const bool silent = life.state == Life::State::kSilent || life.state == Life::State::kCutOff;
    if (!c.holds || !silent || IsStopped(ProcessesOf(facts, c.owner).owner)) continue;
    const std::string since =
        life.connection ? absl::StrCat("has not been heard of for ", Short(life.connection->silent),
                                       " of ", Short(life.connection->timeout))
                        : "is connected to none of the servers";
    found.push_back(
        {kLikely, "holder-silent", path.path,
         absl::StrCat("the session of the holder ", Printable(OwnerText(c.owner)), " ", since,
                      ": its process hangs, is stopped or cut off, or just changes servers"),
         absl::StrCat("look at that process, and ask again; if it stays silent, its session ends"
                      " with its timeout, and ",
                      Held(c), " is free")});
  }
}

// ---- ACLs --------------------------------------------------------------------------------------

// ZooKeeper's permission bits.
constexpr std::int32_t kMayRead = 1;
constexpr std::int32_t kMayWrite = 2;
constexpr std::int32_t kMayDelete = 8;
std::int32_t GrantedToAll(const Acl& acl) {
  std::int32_t granted = 0;
  for (const zk::AclEntry& entry : acl) granted |= entry.scheme == "world" ? entry.permissions : 0;
  return granted;
}

// ZooKeeper asks the parent's ACL about a deletion, never the node's own: closed children are no
// use below a parent that is open.
void JudgeOpen(const PathFacts& path, Findings& found) {
  if ((GrantedToAll(*path.acl) & kMayDelete) == 0) return;
  Names closed;
  for (const auto& [name, acl] : path.children) {
    // An ACL that this client may not read is none of ZooKeeper's default.
    if (!acl || (GrantedToAll(*acl) & kMayWrite) == 0) closed.push_back(name);
  }
  // All open, as by ZooKeeper's default: nobody has tried to close anything.
  if (closed.empty()) return;
  found.push_back({kCertain, "acl-open-parent", path.path,
                   absl::StrCat("every client (world:anyone) may delete children, also those that "
                                "have a closed ACL of their own (",
                                NameSome(closed), "): deletion is for the parent's ACL to allow"),
                   "set the same ACL on the parent"});
}

// Who may do more than read, besides this client's users. A hash is hidden only from those who are
// none of the ACL's administrators.
void AddStrangers(const Facts& facts, const std::optional<Acl>& acl,
                  std::set<std::string>& strangers) {
  for (const zk::AclEntry& entry : acl.value_or(Acl())) {
    const std::string user = entry.id.substr(0, entry.id.find(':'));
    const bool ours = entry.scheme == "digest" && std::ranges::count(facts.users, user) > 0 &&
                      !absl::EndsWith(entry.id, ":x");
    if ((entry.permissions & ~kMayRead) != 0 && !ours) {
      strangers.insert(absl::StrCat(entry.scheme, ":", entry.id));
    }
  }
}

// One who has credentials keeps strangers from locks, and so from the epoch. Under an open root the
// first one who makes the record owns it.
void JudgeOwner(const Facts& facts, const PathFacts& parent, Findings& found) {
  if (facts.users.empty()) return;
  if (parent.children.empty()) {
    found.push_back({kCertain, "epoch-missing", session::kEpochPath,
                     "there is no record of the epoch: any client that may create nodes there can "
                     "make one that strangers write",
                     "zkr epoch --make"});
  }
  for (const auto& [record, acl] : parent.children) {
    std::set<std::string> strangers;
    AddStrangers(facts, acl, strangers);
    AddStrangers(facts, parent.acl, strangers);
    if (strangers.empty()) continue;
    found.push_back({kCertain, "epoch-foreign", record,
                     absl::StrCat("others than this client's users may write the epoch, or take "
                                  "its place (",
                                  NameSome({strangers.begin(), strangers.end()}),
                                  "): all clients believe them"),
                     kMakeEpoch});
  }
}

// Without read a client is granted no lock, so the record is for all to read.
void JudgeRecord(const PathFacts& parent, Findings& found) {
  for (const auto& [record, acl] : parent.children) {
    if (!acl || (GrantedToAll(*acl) & kMayRead) != 0) continue;
    found.push_back({kCertain, "epoch-closed", record,
                     "not everyone may read the epoch: no lock is granted to clients that its ACL"
                     " does not name",
                     "let world:anyone read it, or zkr epoch --make"});
  }
}

}  // namespace

void JudgeQueue(const Facts& facts, const PathFacts& path, Findings& found) {
  if (path.exists && !path.listed) {
    found.push_back(
        {kCertain, "path-unreadable", path.path,
         "its ACL does not let this client read it: who holds it and who waits is unknown",
         "give credentials that its ACL names (--digest-file)"});
  }
  JudgeNumbers(path, found);
  JudgeOrphans(facts, path, found);
  JudgePermits(facts, path, found);
  JudgeHolders(facts, path, found);
}

void JudgeHolders(const Facts& facts, const PathFacts& path, Findings& found) {
  JudgeProcesses(facts, path, found);
  JudgeSilence(facts, path, found);
}

void JudgeAcls(const Facts& facts, const PathFacts& path, Findings& found) {
  if (path.of_epoch) JudgeOwner(facts, path, found);
  if (path.of_epoch && path.exists) JudgeRecord(path, found);
  if (path.exists && path.acl) JudgeOpen(path, found);
}

}  // namespace zkrecipes::zkr::doctor
