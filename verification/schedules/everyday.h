// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_SCHEDULES_EVERYDAY_H_
#define ZKRECIPES_VERIFICATION_SCHEDULES_EVERYDAY_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "testing/memory/simulation.h"
#include "verification/schedules/move.h"

namespace zkrecipes::schedules {

// Faults that every lease and every place in the queue has to outlive. README.md has the rule:
//
//   - one server at a time is unwell, for however long, and every process reaches another one;
//   - a stall, in which no server answers a write, is no longer than docs/lease.md allows;
//   - each of them begins, or ends, half a session timeout or more after the one before;
//   - a process does not lose its way to a server that has lost its own to the leader.
//
// A fault that would break the rule may not begin, and each ends by itself: so a schedule keeps the
// rule whatever moves are taken out of it.
class Everyday {
 public:
  using Hosts = std::vector<std::shared_ptr<testing::memory::Host>>;

  // `simulation` outlives it.
  Everyday(testing::memory::Simulation& simulation, Hosts hosts, absl::Duration session_timeout);

  // `move.which` is how long it takes in milliseconds, or for kCannotReach a server.
  bool MayBegin(const Move& move) const;
  void Begin(const Move& move);  // REQUIRES: MayBegin(move)
  // When EndDue has to be called. InfiniteFuture: all is well.
  base::BootTime NextEnd() const;
  void EndDue();
  void ReachAll();  // from every process

  // Whether a lease that was granted then has settled: half a session timeout before and after its
  // grant were calm, or a whole one since.
  bool HasSettled(base::BootTime granted) const;

  absl::Duration session_timeout() const { return session_timeout_; }
  absl::Duration longest_stall() const;

 private:
  struct Fault {
    Move move;
    base::BootTime began;
    base::BootTime until;
  };

  testing::memory::ModelEnsemble& model() const { return simulation_.ensemble(); }
  base::BootTime now() const { return simulation_.now(); }
  bool IsUnwell(int server, MoveKind kind) const {
    return unwell_.has_value() && unwell_->move.kind == kind && ServerOf(unwell_->move) == server;
  }
  static int ServerOf(const Move& move) { return static_cast<int>(move.who); }
  double TriesInVain(size_t process) const;  // in session timeouts, at most
  bool GivesUp(const Move& move) const;
  bool OutlivesLinkStall(size_t process) const;
  bool Reaches(size_t process, int but) const;
  bool IsKeptBy(size_t process, int server) const;
  bool IsStall(const Move& move) const;
  bool MayStall(const Move& move) const;
  void BeUnwell(const Move& move);
  void BeWell(const Move& move);
  void Stall(const Move& move);
  void EndStall(const Move& move);
  void StandStill(bool still);
  void SetDrops();
  void NoteTrouble();

  testing::memory::Simulation& simulation_;
  const Hosts hosts_;
  const absl::Duration session_timeout_;
  std::vector<testing::memory::parts::ServerSet> cannot_reach_;  // each process
  base::BootTime calm_since_;
  std::vector<base::BootTime> troubles_;  // when faults began and ended
  std::optional<Fault> unwell_;           // one server is
  std::optional<Fault> stall_;
};

}  // namespace zkrecipes::schedules

#endif  // ZKRECIPES_VERIFICATION_SCHEDULES_EVERYDAY_H_
