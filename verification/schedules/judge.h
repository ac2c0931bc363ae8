// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_JUDGE_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_JUDGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "lib/base/boot_time.h"
#include "testing/memory/model_ensemble.h"

namespace zkrecipes::explore::schedules {

// Which rule was broken: a schedule is shrunk as long as it breaks the same one.
enum class Rule {
  kGrantedNotFirst,   // a grant of a node that never had nobody to wait for
  kGrantedTwice,      // two grants of one node
  kWrongToken,        // other than its node's czxid, or of a downgrade the writer's token
  kFollowedNobody,    // granted to go on from a lease that had ended before
  kForeignSession,    // believed in a session that does not own the node
  kHeldAfterLoss,     // held although lost() had fired
  kBelievedTooLong,   // believed although the node had gone, other than by an operator
  kBothBelieved,      // two strict leases at once
  kDelaySkipped,      // strict: granted too soon after a holder that vanished
  kNotTold,           // once all is quiet: lost, and lost() has not fired; or held without a node
  kBusyAlone,         // a try found somebody in the way where there was nobody
  kUnexpectedAnswer,  // an error that nothing explains
  kAnsweredTwice,     // a callback ran twice
  kNeverAnswered,     // a wait that nobody ends: a lost wake-up, or a call that hangs
  kNodeLeft,          // a node that nobody will delete
  kWatchLeft,         // a watch that nobody wants
  kNotClosed,         // a client that does not close
};
const char* NameOf(Rule rule);

struct Violation {
  Rule rule;
  std::string what;
};

// Follows the queue through every committed transaction, whoever has seen it or not: the tree's own
// order, against which grants are judged.
class Judge {
 public:
  explicit Judge(std::string queue) : queue_(std::move(queue)) {}

  // Reads on in the ensemble's history, to which it is `now`. REQUIRES: it is kept.
  void Follow(const testing::memory::ModelEnsemble& ensemble, base::BootTime now);

  // Has the node with this czxid ever been first, or a reader with none but readers in front?
  bool WasAdmitted(int64_t czxid) const { return Of(czxid).admitted; }
  // Likewise, but for this one in front of it. (Who follows a lease does not wait for its node.)
  bool WasAdmittedBehind(int64_t czxid, int64_t followed) const {
    return WasAdmitted(czxid) || Of(czxid).admitted_behind.count(followed) > 0;
  }
  // When it went; nothing: it is there.
  std::optional<base::BootTime> EndOf(int64_t czxid) const;
  // Was this one there when the other was created?
  bool WasBornUnder(int64_t czxid, int64_t followed) const;
  // Does it wait for the node at `path`? For the nearest; or behind others of its own session, of
  // which it may follow one.
  bool MayWatch(int64_t czxid, const std::string& path) const;
  // Of those that have been there since, how many are writers.
  int WritersSince(int64_t zxid) const;
  // Has anybody but this session created a node after that?
  bool CreatedByOthers(int64_t since, zk::SessionId session) const;
  zk::SessionId OwnerOf(int64_t czxid) const { return Of(czxid).owner; }
  // It is there no more, and no operator deleted it.
  bool IsGone(int64_t czxid) const {
    return nodes_.count(czxid) == 0 && !Of(czxid).deleted_by_operator;
  }
  const std::map<int64_t, std::string>& nodes() const { return nodes_; }  // by czxid

 private:
  struct End {
    int64_t zxid;
    base::BootTime when;
  };
  struct Contender {
    zk::SessionId owner = 0;
    bool reader = false;
    // The czxid of who took its number first: a downgrade's node takes the writer's.
    int64_t place = 0;
    std::optional<End> end;
    bool deleted_by_operator = false;
    bool admitted = false;
    std::set<int64_t> admitted_behind;

    bool ThereAfter(int64_t zxid) const { return !end.has_value() || end->zxid > zxid; }
  };

  const Contender& Of(int64_t czxid) const;
  void Add(int64_t czxid, const std::string& path, zk::SessionId owner);
  void Remove(int64_t czxid, End end);
  void Admit();

  const std::string queue_;
  size_t read_ = 0;
  std::map<int64_t, Contender> contenders_;  // by czxid, all there ever were
  std::map<int64_t, std::string> nodes_;     // those that are there
  std::map<std::string, int64_t> czxids_;
  std::set<std::pair<int64_t, int64_t>> order_;  // place, czxid
  std::map<int32_t, int64_t> places_;            // by number, in this incarnation of the queue
};

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_JUDGE_H_
