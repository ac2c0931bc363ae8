// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_SCENE_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_SCENE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "lib/queue/acquisition.h"
#include "testing/memory/simulation.h"
#include "verification/schedules/judge.h"
#include "verification/schedules/move.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::explore::schedules {

// One attempt at the lock, by the code that ships.
struct Attempt {
  std::shared_ptr<internal::ClientCore> core;
  queue::Mode mode = queue::Mode::kExclusive;
  bool try_only = false;
  bool brief = false;       // has a timeout
  bool cancelled = false;   // by its user
  bool closed = false;      // its client was
  bool deleted = false;     // an operator deleted a node while it waited
  int64_t since = 0;        // the ensemble's zxid when it began
  bool met_others = false;  // a try: somebody else may have been in the queue since
  std::stop_source cancel;
  int answers = 0;
  std::optional<Lease> lease;
  int64_t node = 0;        // its czxid
  int losses = 0;          // how often lost() was heard
  bool gave_back = false;  // its lease, while that was believed
  std::optional<std::stop_callback<std::function<void()>>> on_lost;
  // An upgrade or a downgrade of the lease, that is under way; and what that goes on from.
  std::shared_ptr<Attempt> next;
  std::shared_ptr<Attempt> from;

  bool waiting() const { return answers == 0; }
  // REQUIRES: it has a lease.
  bool believes() const {
    const Lease::State state = lease->state();
    return state == Lease::State::kHeld || state == Lease::State::kSuspect;
  }
};

struct SceneOptions {
  int processes = 3;
  int slots = 4;  // the i-th belongs to process i modulo `processes`
  int servers = 3;
  uint64_t seed = 1;
  int32_t next_sequence = 0;            // of the queue; else than 0: it is there from the beginning
  std::vector<queue::Mode> modes = {};  // of the slots; empty: all are exclusive
  absl::Duration lock_delay = absl::ZeroDuration();  // else: all are strict
  LeaseOptions lease = {};
};

// A few processes that want one lock, on an ensemble in memory: carries out moves one by one and
// checks after each that no rule is broken. From the same options, the same moves lead to the same
// end.
class Scene {
 public:
  explicit Scene(const SceneOptions& options);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // False: it cannot happen now, and nothing did.
  bool Make(const Move& move);
  // What can happen by itself, kCloseDue and kAdvance last.
  void ListOrdinary(std::vector<Move>& moves);

  // Mends everything, lets everybody have a turn, and checks that nothing is left behind.
  void EndQuietly();

  const std::optional<Violation>& violation() const { return violation_; }
  const SceneOptions& options() const { return options_; }
  int servers() { return simulation_.ensemble().servers(); }
  int hosts() const { return static_cast<int>(processes_.size()); }  // closing ones included
  std::optional<int> ServerOf(uint32_t host) const { return processes_[host].host->ConnectedTo(); }
  bool strict() const { return options_.lock_delay > absl::ZeroDuration(); }
  // An upgrade or a downgrade that is under way is a wait, and not even its lease is released.
  bool Waits(int slot) const { return slots_[Index(slot)] && !Holds(slot); }
  bool Holds(int slot) const {
    const auto& attempt = slots_[Index(slot)];
    return attempt && attempt->lease.has_value() && attempt->next == nullptr;
  }
  bool MayGoUpOrDown(int slot) const;  // its lease may be upgraded or downgraded
  int grants() const { return grants_; }
  // Who holds and who waits, for a story.
  std::string Describe();

 private:
  std::string DescribeSession(zk::SessionId session);

  struct Process {
    std::shared_ptr<testing::memory::Host> host;
    std::shared_ptr<internal::ClientCore> core;
  };

  static size_t Index(int i) { return static_cast<size_t>(i); }
  testing::memory::ModelEnsemble& model() { return simulation_.ensemble(); }
  testing::memory::Host& host(uint32_t process) { return *processes_[process].host; }

  // scene.cc
  bool MakeOrdinary(const Move& move);
  bool CanMake(const Move& move);
  void Break(Rule rule, const std::string& what);
  void Check();
  void CheckLease(Attempt& attempt, size_t slot);
  void CheckOneBelieves();
  void RunUntil(base::BootTime when);  // and checks whenever time has gone on
  std::vector<testing::memory::ConnectionId> Orphans();
  testing::memory::ConnectionId ConnectionOf(const testing::memory::Host& host);  // 0: none

  // scene_users.cc
  bool MakeUserMove(const Move& move);
  bool Begin(size_t slot, MoveKind kind);
  bool GoUpOrDown(size_t slot);
  std::shared_ptr<Attempt> NewAttempt(size_t slot);
  void Start(size_t slot, const std::shared_ptr<Attempt>& attempt,
             const queue::Candidacy& candidacy);
  std::vector<std::shared_ptr<Attempt>> Live() const;  // that wait or hold
  bool MeetsOthers(const Attempt& attempt);
  void OnAnswer(size_t slot, const std::shared_ptr<Attempt>& attempt,
                internal::Acquisition::Answer answer);
  void OnGrant(size_t slot, const std::shared_ptr<Attempt>& attempt, Lease lease);
  void CheckGrant(const Attempt& attempt, const Lease& lease, const std::string& who);
  void CheckDelay(const std::shared_ptr<Attempt>& attempt, const std::string& who);
  static void Release(Attempt& attempt);
  void CheckError(size_t slot, const Attempt& attempt, const absl::Status& status);
  bool MayNotGoUpOrDown(const Attempt& attempt, const absl::Status& status);
  bool CloseClient(uint32_t process);
  size_t OpenClient();

  // scene_faults.cc
  bool MakeFault(const Move& move);
  bool Befall(const Move& move);
  void Expire(const Process& process);
  bool Forget(const Process& process);
  bool ArriveTooLate(const Process& process);
  void TalkUntilIdle(testing::memory::Host& host);
  bool OperatorDeletes(uint32_t which);
  void MendEverything();
  void LetEverybodyHaveATurn();
  void CheckWasTold(const Attempt& attempt);
  void CheckWatches();
  void CheckNodesAreWanted();
  void CheckNothingIsLeft();
  void CloseEverything();
  void CheckCallbacks();

  const SceneOptions options_;
  testing::memory::Simulation simulation_;
  Judge judge_;
  std::vector<Process> processes_;  // all there ever were
  std::vector<size_t> current_;     // which of them each of `options_.processes` is now
  std::vector<std::shared_ptr<Attempt>> slots_;  // null: idle
  std::vector<std::shared_ptr<Attempt>> attempts_;
  std::set<int64_t> granted_;
  std::shared_ptr<Attempt> last_;  // that was granted, in the tree's order
  int grants_ = 0;
  bool troubled_ = false;  // something went wrong
  std::optional<Violation> violation_;
};

}  // namespace zkrecipes::explore::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_SCENE_H_
