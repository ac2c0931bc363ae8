// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/queue/machine/blind.h"
#include "lib/queue/machine/contender.h"
#include "lib/queue/machine/node_name.h"
#include "tools/zkr/commands/client.h"
#include "tools/zkr/doctor/derived.h"
#include "tools/zkr/doctor/finding.h"
#include "tools/zkr/output.h"

namespace zkrecipes::zkr::doctor {
namespace {

using enum Finding::Kind;
constexpr std::int64_t kFewDays = 14;

using Names = std::vector<std::string>;

class QueueJudge {
 public:
  QueueJudge(const Facts& facts, const PathFacts& path)
      : facts_(facts), path_(path), about_(path.path) {}

  Findings Judge() {
    // Its children are other paths.
    if (path_.kind == PathFacts::Kind::kAncestor) return {};
    if (!path_.exists) {
      Add(kNote, "path-missing", "does not exist; the first contender creates it", "");
      return std::move(found_);
    }
    JudgeParent();
    JudgeOthers();
    JudgeNames();
    JudgeOrphans();
    JudgeProcesses();
    return std::move(found_);
  }

 private:
  void Add(Finding::Kind kind, const std::string& what, const std::string& why,
           const std::string& todo) {
    found_.push_back({kind, what, about_, why, todo});
  }

  void JudgeParent() {
    if (!path_.node.stat) return;
    // Every create below it fails, whatever is retried.
    if (path_.node.stat->ephemeral_owner != 0) {
      Add(kFinding, "path-ephemeral", "is an ephemeral node, which can have no children",
          "choose another path, or end the session that owns the node");
    }
    const commands::Numbers numbers = commands::NumbersOf(*path_.node.stat);
    const auto days = DaysLeft(path_, facts_.now);
    const bool soon = days && *days < kFewDays;
    if (numbers.Judge() == commands::Numbers::State::kPlenty && !soon) return;
    // Used up is refused already; running out leaves time to plan the deletion of the path's node.
    const bool out = numbers.Judge() == commands::Numbers::State::kUsedUp;
    Add(kFinding, out ? "numbers-used-up" : "numbers-running-out",
        absl::StrCat(numbers.used, " of ", commands::Numbers::kAll, " sequence numbers are used",
                     out    ? ": new contenders are refused"
                     : days ? absl::StrCat(", the rest in ", *days, " days at the present rate")
                            : ""),
        "when the queue is empty, delete the path's node: the next one begins at 0");
  }

  void JudgeOthers() {
    Names others;
    // The record of lock-delay mode is the library's own, and no stranger.
    for (const std::string& name : path_.others) {
      if (name != queue::machine::kRecordName) others.push_back(name);
    }
    if (others.size() < path_.others.size()) {
      Add(kNote, "lock-delay-record",
          absl::StrCat("has been used in lock-delay mode, whose record (",
                       queue::machine::kRecordName, ") keeps the path's node"),
          "delete the record when the path no longer uses that mode");
    }
    if (others.empty()) return;
    // Its nodes are one level further down, so both sides see an empty queue and believe in it.
    if (std::ranges::count(others, queue::machine::kSemaphoreLeases) > 0) {
      Add(kFinding, "semaphore",
          absl::StrCat("Curator's InterProcessSemaphoreMutex or InterProcessSemaphoreV2 keeps its "
                       "nodes in the"
                       " child ",
                       queue::machine::kSemaphoreLeases,
                       ", where no contender sees them: both may hold"),
          "give the semaphore a path of its own");
    }
    Add(kFinding, "foreign-children",
        absl::StrCat(others.size(), others.size() == 1 ? " child is" : " children are",
                     " no contender: ", NameSome(others),
                     "; contenders ignore them, but they keep the path's node"),
        "delete them, or use a path that is the lock's alone");
  }

  void JudgeNames() {
    Names curator, kazoo, leaders, locks, plain, read_write, unread;
    bool curators = false;
    std::map<std::pair<std::string, std::int64_t>, Names> by_guid;
    for (const NodeFacts& node : path_.queue) {
      const auto name = queue::machine::ParseNodeName(node.name);
      const bool is_kazoo = name->dialect == queue::machine::Dialect::kKazoo;
      (is_kazoo ? kazoo : curator).push_back(node.name);
      // kazoo's names do not say whether they are of a lock or of an election.
      if (!is_kazoo) {
        (name->mode == queue::machine::Mode::kLeader ? leaders : locks).push_back(node.name);
        if (name->mode != queue::machine::Mode::kLeader) {
          (name->mode == queue::machine::Mode::kExclusive ? plain : read_write)
              .push_back(node.name);
        }
        curators |= queue::machine::LibraryOf(*name) == queue::machine::Library::kCurator;
      }
      if (!node.stat) unread.push_back(node.name);
      // By session, too: a contender that came back in a new one has left its old node to the end
      // of the old session.
      if (node.stat) by_guid[{name->guid, node.stat->ephemeral_owner}].push_back(node.name);
    }
    // In one queue, contenders that ignore each other all believe that they hold the lock.
    JudgeDialects(curator, kazoo);
    // They wait for each other by sequence number, so an election would stall behind a lock.
    if (!leaders.empty() && !locks.empty()) {
      Add(kFinding, "recipes-mixed",
          absl::StrCat("candidates of an election (", NameSome(leaders),
                       ") and contenders for a lock (", NameSome(locks), ") are in one queue"),
          "give the election and the lock paths of their own");
    }
    // Our own contenders see both; Curator's two recipes each look for their own names only.
    if (curators && !plain.empty() && !read_write.empty()) {
      Add(kFinding, "recipes-mixed",
          absl::StrCat("a lock's contenders (", NameSome(plain), ") and a read/write lock's (",
                       NameSome(read_write), ") are in one queue; Curator's ignore each other"),
          "let our Lock write NodeMarker::kWriter (zkr lock --exclusive), or use paths of their "
          "own");
    }
    // One guid in two sessions is no twin: a contender that came back has a new node, and the old
    // one goes.
    for (const auto& [owner, names] : by_guid) {
      if (names.size() < 2) continue;
      Add(kFinding, "orphan-twin",
          absl::StrCat("one contender has ", names.size(), " nodes: ", NameSome(names),
                       "; it knows of one, and nobody releases the others while its session lives"),
          "let its process leave the queue or end; then break what is left (zkr break)");
    }
    if (!unread.empty()) {
      Add(kNote, "contenders-unreadable",
          absl::StrCat("this client may not read ", NameSome(unread),
                       ": token, owner and session are not known"),
          "use the credentials of their owners");
    }
    // Of these nothing was judged: the report must not look complete.
    if (path_.unread > 0) {
      Add(kNote, "queue-too-long",
          absl::StrCat("only ", path_.queue.size(), " of the contenders were looked at, ",
                       path_.unread, " were not"),
          "");
    }
  }

  void JudgeDialects(const Names& curator, const Names& kazoo) {
    if (!curator.empty() && !kazoo.empty()) {
      Add(kFinding, "dialects-mixed",
          absl::StrCat("contenders are named in two dialects, Curator's (", NameSome(curator),
                       ") and kazoo's (", NameSome(kazoo),
                       "): a kazoo Lock ignores Curator's, so that both may own the lock"),
          "let all of the path's clients write kazoo's names (--dialect kazoo)");
      return;
    }
    // Only one dialect is there, and it is not this client's: nothing is wrong until this client
    // joins.
    const std::string theirs = kazoo.empty() ? "curator" : "kazoo";
    if ((curator.empty() && kazoo.empty()) || theirs == facts_.dialect) return;
    Add(kNote, "other-dialect",
        absl::StrCat("its contenders are named in the dialect ", theirs, ", this client's are in ",
                     facts_.dialect),
        absl::StrCat("use --dialect ", theirs, " there"));
  }

  void JudgeOrphans() {
    Names names;
    for (const NodeFacts& node : path_.queue) {
      if (node.stat && node.stat->ephemeral_owner == 0) names.push_back(node.name);
    }
    // Somebody made it by hand, or by a create without the ephemeral flag.
    if (names.empty()) return;
    Add(kFinding, "orphan-persistent",
        absl::StrCat(NameSome(names), names.size() == 1 ? " is" : " are",
                     " not ephemeral: no session's end removes it, and what queues behind it waits"
                     " for ever"),
        absl::StrCat("break it (zkr break ", about_, " --token N, as zkr ls shows it)"));
  }

  // The owner wrote its host and pid itself: a hint, no proof.
  void JudgeProcesses() {
    Names gone;
    for (const ContenderInfo& c : facts_.contenders) {
      if (c.owner.pid <= 0 || c.owner.host != facts_.machine.host) continue;
      if (ProcessOf(facts_, c.owner) != nullptr) continue;
      gone.push_back(absl::StrCat(c.node, " (pid ", c.owner.pid, ")"));
    }
    if (gone.empty()) return;
    Add(kFinding, "orphan-process",
        absl::StrCat("the owner that ", NameSome(gone), " names is no process of this machine"),
        "wait for a session timeout; if it is still there, and no container of this machine has "
        "that process, break it (zkr break)");
  }

  const Facts& facts_;
  const PathFacts& path_;
  const std::string about_;
  Findings found_;
};

}  // namespace

Findings JudgeQueue(const Facts& facts, const PathFacts& path) {
  return QueueJudge(facts, path).Judge();
}

}  // namespace zkrecipes::zkr::doctor
