// SPDX-License-Identifier: Apache-2.0
//
// A replica of a scheduler: it waits until it is elected, then does what is due, again and again.
// scheduler.cc is the program, scheduler_test.cc tests this in memory.

#ifndef ZKRECIPES_EXAMPLES_SCHEDULER_H_
#define ZKRECIPES_EXAMPLES_SCHEDULER_H_

#include <condition_variable>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "zkrecipes/leader_election.h"

class Scheduler {
 public:
  // Does what is due, and shows the pass with every write. Takes seconds at most: at a hand-over
  // the next replica waits for it.
  using Work = std::function<absl::Status(const zkrecipes::FencingPass& pass)>;

  Scheduler(std::shared_ptr<zkrecipes::Client> client, const std::string& name,
            absl::Duration pause, Work work)
      : election_(std::move(client), "/examples/scheduler",
                  zkrecipes::LeaderElectionOptions{
                      .candidate = {.id = name},
                      // A replica that hangs, such as on a database that does not answer, loses
                      // the leadership, though its connection to the ensemble is well.
                      .acquire = {.alive_within = absl::Seconds(30)}}),
        pause_(pause),
        work_(std::move(work)) {}

  // Until `stop`, over lost connections, sessions and elections. When it returns OK, its node is
  // gone, so that the next replica leads at once. An error is one that needs an operator.
  absl::Status Run(const std::stop_token& stop) const {
    return election_.RunWhileLeading(
        stop, [this](const auto& lease, const auto& end) { Lead(lease, end); });
  }

 private:
  void Lead(const zkrecipes::Lease& lease, const std::stop_token& end) const {
    std::cout << "leading in term " << lease.token() << std::endl;
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    // `end` interrupts the pause. StillAlive says that this replica does not hang, and returns what
    // believed() does: it reads the clock, so it is right even if this process was frozen and the
    // notice of the loss is still on its way.
    while (!end.stop_requested() && lease.StillAlive()) {
      const absl::Status done = work_(lease.pass());
      if (!done.ok()) {
        // Either a newer leader was there before, or the database is in trouble: another replica
        // may reach it. RunWhileLeading queues again, after a pause that grows.
        std::cout << "resigning: " << done << std::endl;
        return;
      }
      never.wait_for(lock, end, absl::ToChronoMicroseconds(pause_), [] { return false; });
    }
    std::cout << (lease.believed() ? "handing over" : "no longer leading") << std::endl;
  }

  const zkrecipes::LeaderElection election_;
  const absl::Duration pause_;
  const Work work_;
};

#endif  // ZKRECIPES_EXAMPLES_SCHEDULER_H_
