// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_RECIPES_MACHINE_KEPT_LOCK_WORLD_FIXTURE_H_
#define ZKRECIPES_RECIPES_MACHINE_KEPT_LOCK_WORLD_FIXTURE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"

#include "recipes/machine/kept_lock.h"

namespace zkrecipes::recipes::machine {

// Two processes with a KeptLock each, two callers in each, and a queue of nodes: what they come to
// by all that can happen. What stands around a machine is here as in LocalQueue; of the nodes and
// leases, which are other machines' (verification/explore), there is only what those promise.
class KeptLockWorld {
 public:
  // How much may yet happen that need not.
  struct Budget {
    int acquires = 0;
    int tries = 0;
    int faults = 0;  // leases that lapse, joins that fail, and listings
    int jumps = 0;   // of the clock, past the limit of time, or to a look whether it is quiet
  };
  struct Move {
    const char* what;
    size_t process;
  };
  using Visit = absl::FunctionRef<void(Move, KeptLockWorld)>;

  explicit KeptLockWorld(Budget budget) : budget_(budget) {
    for (Process& p : processes_) MakeOwn(p.lock);
    Enter(processes_[0], processes_[0].callers[0], false);  // the one is as good as the other
  }

  void ForEachNext(Visit visit) const;
  const std::string& violation() const { return violation_; }

  template <typename H>
  friend H AbslHashValue(H h, const KeptLockWorld& w) {
    return H::combine(std::move(h), w.processes_, w.queue_, w.ended_, w.last_, w.now_, w.tokens_,
                      w.budget_.acquires, w.budget_.tries, w.budget_.faults, w.budget_.jumps);
  }

 private:
  using State = KeptLock::State;
  using What = KeptLock::Action::What;
  using Token = int64_t;
  enum class Asks : uint8_t { kJoin, kTry, kWithdraw, kDelete };
  enum class Sight : uint8_t { kNothing, kNobody, kOthers };
  enum class Answer : uint8_t { kGranted, kBusy, kWithdrawn, kFailed };

  struct Caller {
    enum { kAway, kWaits, kHolds } does = kAway;
    KeptLock::Waiter waiter = 0;
    bool tries = false;
    Token token = 0;  // of its turn

    template <typename H>
    friend H AbslHashValue(H h, const Caller& c) {
      return H::combine(std::move(h), c.does, c.waiter, c.tries, c.token);
    }
  };

  struct Process {
    KeptLock lock{kLimits};
    std::array<Caller, 2> callers;
    KeptLock::Waiter waiters = 0;  // so far
    Token token = 0;               // of the tenure; 0: there is none
    Token last = 0;                // the latest tenure's
    int64_t turns = 0;             // of the tenure, so far
    // Since it has heard that others wait: how many turns have begun, and when it heard.
    std::optional<int> asked = {};
    base::BootTime asked_at;
    // The tenure whose watch it has, what the last listing said, and the one that is on its way.
    Token looks = 0;
    Sight told = Sight::kNothing;
    absl::InlinedVector<std::pair<Token, Sight>, 1> news = {};
    int joins = 0;                               // so far
    absl::InlinedVector<int, 1> withdraws = {};  // joins that other threads are about to withdraw
    // Under way, in their order.
    absl::InlinedVector<std::pair<Asks, Token>, 2> requests = {};
    absl::InlinedVector<std::pair<Answer, Token>, 2> answers = {};

    template <typename H>
    friend H AbslHashValue(H h, const Process& p) {
      return H::combine(std::move(h), p.lock, p.callers, p.waiters, p.token, p.last, p.turns,
                        p.asked, p.asked_at, p.looks, p.told, p.news, p.joins, p.withdraws,
                        p.requests, p.answers);
    }
  };

  struct Node {
    Token token;
    size_t process;
    bool granted = false;

    template <typename H>
    friend H AbslHashValue(H h, const Node& n) {
      return H::combine(std::move(h), n.token, n.process, n.granted);
    }
  };

  static constexpr KeptLock::Limits kLimits = {.turns = 1, .time = absl::Seconds(1)};

  // Once more with no other process between, and it stays.
  static void MakeOwn(KeptLock& lock) {
    for (int i = 1; i < KeptLock::kNeedsAtFirst; ++i) {
      lock.Acquire(0);
      lock.OnGranted(/*alone=*/true);
      lock.OnTurnOver({});
    }
  }
  void Check(bool good, const char* rule) {
    if (!good && violation_.empty()) violation_ = rule;
  }
  bool Believed(Token token) const { return (ended_ >> token & 1) == 0; }
  void End(Token token) { ended_ |= uint64_t{1} << token; }

  void Enter(Process& p, Caller& caller, bool try_only);
  void EndTurn(Process& p, Caller& caller);
  void GiveUp(Process& p, Caller& caller);
  void Do(Process& p, const KeptLock::Actions& actions, Answer refusal = Answer::kGranted);
  void BeginTurn(Process& p, Caller& caller);
  void Hear(Process& p);
  void HearNews(Process& p);
  void Learn(Process& p, Sight sight);
  void Withdraw(Process& p);

  template <typename F>
  bool Drop(F which);
  void Serve(size_t process);
  void Refuse(size_t process, Answer why);
  void Fail(size_t node);
  Sight SightFor(Token token) const;
  void GrantFirst();

  void CheckNow();
  void CheckEnd();

  // Each returns whether one of them happens by itself, or is a release.
  bool ForEachOfNodes(Visit visit) const;
  bool ForEachOfProcess(Visit visit, size_t process) const;
  bool ForEachOfCallers(Visit visit, size_t process) const;
  template <typename F>
  void Make(Visit visit, Move move, F does) const;

  std::array<Process, 2> processes_;
  absl::InlinedVector<Node, 4> queue_;
  uint64_t ended_ = 0;  // a bit for each token whose lease is not believed any more
  std::pair<Token, int64_t> last_ = {};  // the latest turn that was believed
  Token tokens_ = 0;                     // so far
  base::BootTime now_;
  Budget budget_;
  std::string violation_;
};

}  // namespace zkrecipes::recipes::machine

#endif  // ZKRECIPES_RECIPES_MACHINE_KEPT_LOCK_WORLD_FIXTURE_H_
