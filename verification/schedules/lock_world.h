// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_LOCK_WORLD_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_LOCK_WORLD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

#include "lib/queue/acquire/acquisition.h"
#include "recipes/cached/local_queue.h"
#include "testing/memory/simulation.h"
#include "verification/schedules/election.h"
#include "verification/schedules/everyday.h"
#include "verification/schedules/move.h"
#include "verification/schedules/queue_history.h"
#include "verification/schedules/register.h"
#include "verification/schedules/shards.h"
#include "verification/schedules/tenant.h"
#include "zkrecipes/cached_lock.h"
#include "zkrecipes/lock.h"

namespace zkrecipes::schedules {

// What a bid is granted: a lease, or a turn under one.
struct Hold {
  Hold() = default;
  explicit Hold(Lease its_lease) : lease(std::move(its_lease)) {}
  explicit Hold(CachedLease its_turn) : turn(std::move(its_turn)) {}

  bool has_value() const { return lease.has_value() || turn.has_value(); }
  const Lease& operator*() const { return turn.has_value() ? turn->tenure() : *lease; }
  const Lease* operator->() const { return &**this; }
  FencingPass pass() const { return turn.has_value() ? turn->pass() : lease->pass(); }
  void reset() {
    lease.reset();
    turn.reset();
  }

  std::optional<Lease> lease;
  std::optional<CachedLease> turn;
};

// One bid for the lock, by the code that ships, and the lease that it leads to.
struct Bid {
  std::shared_ptr<internal::ClientCore> core;
  queue::machine::Candidacy candidacy;
  bool brief = false;       // has a timeout
  bool cancelled = false;   // by its user
  bool closed = false;      // its client was
  bool died = false;        // its process did
  bool deleted = false;     // an operator deleted a node while it waited
  int64_t since = 0;        // the ensemble's zxid when it began
  bool met_others = false;  // a try: other nodes may have been in the queue since it began
  std::stop_source cancel;
  int answers = 0;
  Hold lease;
  int64_t node = 0;  // its czxid
  base::BootTime granted;
  Lease::State seen = Lease::State::kHeld;  // its lease, by the last CheckLease
  bool excused = false;    // from the rule of availability: lost before it had settled
  int losses = 0;          // how often its end was told
  bool gave_back = false;  // the lease, while it was believed
  std::optional<std::stop_callback<std::function<void()>>> on_lost;
  // The upgrade or downgrade of the lease that is under way; and what such a bid goes on from.
  std::shared_ptr<Bid> next;
  std::shared_ptr<Bid> from;

  bool waiting() const { return answers == 0; }
  bool exclusive() const {
    return candidacy.mode != queue::machine::Mode::kShared &&
           candidacy.mode != queue::machine::Mode::kPermit;
  }
  // REQUIRES: it has a lease.
  bool believes() const {
    const Lease::State state = lease->state();
    return state == Lease::State::kHeld || state == Lease::State::kSuspect;
  }
  void Cancel() {
    cancelled = true;
    cancel.request_stop();
  }
  void Release() {
    gave_back |= believes();  // unless its client was closed before
    lease.reset();
  }
};

inline constexpr absl::Duration kKeptIdle = absl::Seconds(3);  // CachedLockOptions::keep_idle_for

struct LockWorldOptions {
  Weather weather = Weather::kCalm;
  int processes = 3;
  int slots = 4;  // the i-th belongs to process i modulo `processes`
  uint64_t seed = 1;
  int32_t next_sequence = 0;  // of the queue; nonzero: the queue is there from the beginning
  std::vector<queue::machine::Mode> modes = {};      // of the slots; empty: all are exclusive
  absl::Duration lock_delay = absl::ZeroDuration();  // of all leases
  int permits = 0;                                   // of a semaphore; 0: it is none
  int partitions = 0;                                // that the slots share; 0: they want a lock
  bool election = false;                             // leaders instead of locks
  int keepers = 0;          // so many slots share their process's CachedLock
  bool writes = false;      // holders write to a register
  bool misbehaves = false;  // user code does (Misdeed)
  absl::Duration session_timeout = absl::Seconds(4);
  LeaseOptions lease = {};
  testing::memory::ServerTraits servers = {};
};

// What user code does in the middle of a callback. The headers allow the first three, and say that
// the process ends with the last.
enum class Misdeed : uint32_t { kDestroysAll, kClosesClient, kForks, kThrows };
inline constexpr uint32_t kMisdeeds = 4;

// Why a schedule is wrong. README.md lists the rules. A schedule is shrunk as long as it breaks the
// same one.
struct BrokenRule {
  std::string rule;
  std::string what;
};

// A few processes that want one lock, on an ensemble in memory: makes moves one by one and checks
// after each that no rule is broken. From the same options, the same moves lead to the same end.
class LockWorld {
 public:
  static const MoveRow kMoves[kMoveKinds];  // moves.cc

  explicit LockWorld(const LockWorldOptions& options);
  ~LockWorld();
  LockWorld(const LockWorld&) = delete;
  LockWorld& operator=(const LockWorld&) = delete;

  bool Can(const Move& move);
  // False: it cannot happen now, and nothing did.
  bool Make(const Move& move);
  // Lists moves that can happen by themselves, kCloseDue and kAdvance last.
  void ListOrdinary(std::vector<Move>& moves);

  // Unless a rule is broken: mends everything, lets every slot have a turn, and checks that nothing
  // is left behind.
  void EndQuietly();

  const std::optional<BrokenRule>& broken() const { return broken_; }
  size_t CountOf(Who who);
  std::optional<int> ServerOf(uint32_t process) const {
    return processes_[process].host->ConnectedTo();
  }
  bool delays() const { return options_.lock_delay > absl::ZeroDuration(); }
  // No lease assumes anything of the leader's pings. (A reader's does, whatever the delay.)
  bool starves() const { return delays() && options_.modes.empty(); }
  bool elects() const { return election_ != nullptr; }
  const Everyday* everyday() const { return everyday_.get(); }  // null: another weather
  bool writes() const { return register_ != nullptr; }
  bool misbehaves() const { return options_.misbehaves; }
  bool keeps() const { return options_.keepers > 0; }
  bool tires() const { return options_.seed % 2 == 0; }   // of a lock that is long idle
  const Shards* shards() const { return shards_.get(); }  // null: no partitions
  absl::Duration session_timeout() const { return options_.session_timeout; }
  int grants() const { return grants_ + (shards_ != nullptr ? shards_->gained() : 0); }
  // Each slot's lease or wait, for a story.
  std::string Describe();

 private:
  struct Process {
    std::shared_ptr<testing::memory::Host> host;
    std::shared_ptr<internal::ClientCore> core;
    zk::SessionId session = 0;                      // its first
    std::optional<Misdeed> misdeed = std::nullopt;  // of its next callback
    bool died = false;
    std::shared_ptr<Client> client = nullptr;              // for partitions
    std::shared_ptr<internal::LocalQueue> kept = nullptr;  // its CachedLock's
  };

  static constexpr MoveRow Daily(MoveKind kind, const char* name, const char* story, Who who,
                                 uint8_t weight);  // moves.cc

  testing::memory::ModelEnsemble& model() { return simulation_.ensemble(); }
  testing::memory::Host& host(uint32_t process) { return *processes_[process].host; }
  base::BootTime now() const { return simulation_.now(); }
  int servers() { return model().servers(); }
  void Break(const std::string& rule, const std::string& what);
  template <typename Reader, typename... Options>  // an Election, a Register or Shards
  std::shared_ptr<Reader> NewReader(const Options&... options);

  // Moves that happen by themselves, and the checks after each move (lock_world.cc).
  void Check();
  void Follow();  // what has been committed
  void CheckLease(Bid& bid, size_t slot);
  void CheckOneBelieves();
  void CheckPermits();
  void CheckNoPermitIsFree();
  void CheckIsAvailable();
  void RunUntil(base::BootTime when);  // and checks whenever time has gone on
  std::vector<testing::memory::ConnectionId> Orphans();
  testing::memory::ConnectionId ConnectionOf(uint32_t process);  // 0: none
  std::string DescribeSession(zk::SessionId session);

  // The users' moves, and their answers (lock_world_users.cc).
  bool Holds(size_t slot) const;
  Bid* NewestOf(size_t slot) const;  // null: the slot is idle
  void Begin(size_t slot, MoveKind kind);
  std::optional<queue::machine::Candidacy> GoingOn(size_t slot) const;  // nullopt: it may not
  void GoUpOrDown(size_t slot);
  void Proclaim(size_t slot);
  void Write(size_t slot);
  std::shared_ptr<Bid> NewBid(size_t slot);
  void JoinOrLeave(size_t slot);
  void Start(size_t slot, const std::shared_ptr<Bid>& bid);
  bool TakesIdle(internal::LocalQueue& kept, size_t slot, const std::shared_ptr<Bid>& bid);
  std::vector<std::shared_ptr<Bid>> Live() const;  // that wait or hold
  bool MeetsOthers(const Bid& bid);
  void OnAnswer(size_t slot, const std::shared_ptr<Bid>& bid, absl::StatusOr<Hold> answer);
  void OnGrant(size_t slot, const std::shared_ptr<Bid>& bid, Hold lease);
  void CheckGrant(const Bid& bid, const Hold& lease, const std::string& who);
  void CheckOrder(const Hold& lease, const std::string& who);
  void CheckDelay(const std::shared_ptr<Bid>& bid, const std::string& who);
  void CheckError(size_t slot, const Bid& bid, const absl::Status& status);
  bool HasNoNumber();
  bool MayNotGoUpOrDown(const Bid& bid, const absl::Status& status);
  void CloseClient(uint32_t client);
  size_t OpenClient();
  std::shared_ptr<internal::LocalQueue> NewKept(const std::shared_ptr<internal::ClientCore>& core);

  // User code that misbehaves (misdeeds.cc).
  AcquireOptions Listening(const std::shared_ptr<internal::ClientCore>& core);
  void EndCallback(const std::shared_ptr<internal::ClientCore>& core);
  void DestroyAll(const std::shared_ptr<internal::ClientCore>& core);
  void Fork();
  int UseAllInAChild();
  void Throw(uint32_t client);
  void Die(uint32_t client);
  // `run` may call what throws in a child: what leaves it, an executor might catch.
  static void LetThrow(absl::FunctionRef<void()> run);

  // Faults that moves.cc does not do itself, and the end (lock_world_faults.cc).
  void Expire(uint32_t process);
  void Forget(uint32_t process);         // REQUIRES: it is connected
  void ArriveTooLate(uint32_t process);  // REQUIRES: it is connected, and its session lives
  void TalkUntilIdle(uint32_t process);
  template <typename F>
  void WhilePaused(uint32_t process, F what_others_do);
  void SetPingGap(absl::Duration gap);
  void OperatorDeletes(uint32_t which);

  void AwaitQuiet();
  void MendEverything();
  void LetEachHaveATurn();
  void ShareInCalm();
  void EndAskedUntil(base::BootTime when);
  bool AwaitShares();
  void CheckWasTold(const Bid& bid);
  void CheckWatches();
  void CheckNodesAreWanted();
  void LetKeptGo();
  void CheckNothingIsLeft();
  void CloseEverything();
  void CheckCallbacks();

  const LockWorldOptions options_;
  testing::memory::Simulation simulation_;
  QueueHistory history_;
  std::vector<Process> processes_;           // all there ever were
  std::vector<size_t> current_;              // which of them each of `options_.processes` is now
  std::vector<std::shared_ptr<Bid>> slots_;  // null: idle
  std::vector<std::shared_ptr<Bid>> bids_;
  std::set<std::pair<int64_t, int64_t>> granted_;  // nodes, and turns
  FencingPass highest_;                            // believed, where some keep the lock
  std::set<int64_t> admitted_;                     // at the last CheckNoPermitIsFree
  std::shared_ptr<Bid> last_;                      // that was granted, in the tree's order
  int grants_ = 0;
  bool troubled_ = false;  // something went wrong
  std::optional<BrokenRule> broken_;
  Tenant tenant_;
  const std::shared_ptr<Election> election_;  // null: locks
  const std::shared_ptr<Register> register_;  // null: nobody writes
  const std::shared_ptr<Shards> shards_;      // null: no partitions
  std::unique_ptr<Everyday> everyday_;        // null: another weather
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_LOCK_WORLD_H_
