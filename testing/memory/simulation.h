// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TESTING_MEMORY_SIMULATION_H_
#define ZKRECIPES_TESTING_MEMORY_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/boot_time.h"
#include "lib/base/one_shot.h"
#include "lib/session/client/client_core.h"
#include "testing/memory/host.h"
#include "testing/memory/model_ensemble.h"

namespace zkrecipes::testing::memory {

// One thing that can happen next.
struct Step {
  enum class Kind {
    kTask,      // host `who` runs its oldest posted task
    kDeliver,   // host `who` reads its next message, or sees that its connection is gone
    kTimer,     // host `who` runs its earliest timer, which is due
    kCallback,  // host `who` runs task `which` of its executor
    kExecute,   // the server of connection `who` reads its next message
    kCommit,    // the quorum agrees on the oldest proposal
    kApply,     // server `who` applies the next transaction
    kAdvance,   // time moves on to where the next timer or deadline is due
  };
  Kind kind = Kind::kTask;
  uint32_t who = 0;
  uint32_t which = 0;
};

// An ensemble in memory and the processes of its clients, under one scheduler with a clock of its
// own: nothing happens but the steps that the caller runs. From the same seed, the same steps lead
// to the same state.
//
// Everything on one thread, but what Host says is thread-safe. Clients may outlive it: then they
// are dead. Those that are closing may finish first; no callback of theirs runs.
class Simulation {
 public:
  // `wake`: see Host.
  explicit Simulation(
      const ModelOptions& options = {}, uint64_t seed = 1, std::function<void()> wake = [] {});
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // A process for one client.
  std::shared_ptr<Host> AddHost();
  // A client on a host of its own. `options.servers` may be empty, or servers() with a namespace;
  // without an executor the callbacks are steps. REQUIRES: the options are valid.
  std::shared_ptr<internal::ClientCore> NewClient(
      const std::shared_ptr<Host>& host, ClientOptions options = {},
      const std::shared_ptr<base::WaitObserver>& waits = nullptr);
  std::string servers() const;  // "memory-0:2181,memory-1:2181,memory-2:2181"

  // Appends what can happen next to `steps`, kAdvance (where there is anything to wait for) last.
  void ListSteps(std::vector<Step>& steps);
  void Run(const Step& step);  // REQUIRES: it can happen

  // Runs what can happen now in a fair and fixed order, until nothing can without time going on.
  void RunUntilIdle();
  // Likewise, then moves the clock from one deadline to the next until `when`.
  void RunUntil(base::BootTime when);
  base::BootTime NextDeadline();

  base::BootTime now() const { return clock_->Now(); }
  // To where the clock is to be, with what is due by then in the ensemble (not in the hosts).
  void SetTime(base::BootTime now);
  ModelEnsemble& ensemble() { return *ensemble_; }

 private:
  void LetThemClose();
  bool IsSilent(ConnectionId connection) const;
  bool RunHosts();
  bool RunEnsemble();
  void RunToNextDeadline();

  const std::shared_ptr<Clock> clock_ = std::make_shared<Clock>();
  const std::shared_ptr<ModelEnsemble> ensemble_;
  const std::function<void()> wake_;
  uint64_t seed_;
  std::vector<std::shared_ptr<Host>> hosts_;
};

}  // namespace zkrecipes::testing::memory

#endif  // ZKRECIPES_TESTING_MEMORY_SIMULATION_H_
