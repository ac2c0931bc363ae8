// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_VERIFICATION_WORKLOAD_CREW_H_
#define ZKRECIPES_VERIFICATION_WORKLOAD_CREW_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "integration/servers/command.h"
#include "testing/local/server_process.h"
#include "verification/faults/catalogue.h"
#include "verification/workload/recorder.h"
#include "verification/workload/resource.h"

namespace zkrecipes::history {

struct CrewOptions {
  std::string programs = {};   // the directory of zkrecipes-worker and what belongs to it
  std::string directory = {};  // for histories, messages and clocks
  // A worker on each; without a namespace it has this process's.
  std::vector<servers::Host> hosts = {};
  std::string servers = {};
  std::vector<std::string> arguments = {};  // more of zkrecipes-worker: "--loops=1"
  absl::Duration session_timeout = absl::Seconds(4);
  uint64_t seed = 1;  // each process gets one of its own from it
};

// Worker processes, and the resource that they write to. What is done to them is recorded in a
// history of the crew's own. A worker that ends without being told to is an error of the next call
// for it. Not thread-safe. The destructor kills.
//
// Errors of every method: the operating system's own when it refuses something; Internal when a
// worker has ended by itself (the message says where it said why).
class Crew final : public faults::Clients {
 public:
  // Starts all workers; does not wait until they have connected.
  static absl::StatusOr<std::unique_ptr<Crew>> Start(CrewOptions options);
  ~Crew() override = default;

  int size() const override { return static_cast<int>(workers_.size()); }
  servers::Host host(int i) const override { return options_.hosts[static_cast<size_t>(i)]; }
  absl::Duration session_timeout() const override { return options_.session_timeout; }

  absl::Status Kill(int i) override;
  absl::Status Start(int i) override;
  // FailedPrecondition: it is dead. To resume what does not stand still is no error.
  absl::Status Pause(int i) override;
  absl::Status Resume(int i) override;
  absl::Status SetClock(int i, absl::Duration offset) override;

  // Whether all that should be alive are.
  absl::Status Check();
  // Tells all to end, and waits.
  //   DeadlineExceeded  one did not, or not in order: it was killed, or its history has no kEnd
  absl::Status StopAll();

  std::string name(int i) const { return absl::StrCat("w", i); }  // Event::who
  pid_t pid(int i) { return worker(i).process.pid(); }            // 0 if it is dead
  // Of all processes so far; the first is the crew's own.
  const std::vector<std::string>& histories() const { return histories_; }
  const Resource& resource() const { return resource_; }

 private:
  struct Member {
    testing::ServerProcess process;
    bool alive = false;  // as far as we know
    int processes = 0;   // so far
    std::string history;
  };

  explicit Crew(CrewOptions options) : options_(std::move(options)) {}
  absl::Status Spawn(int i);
  std::vector<std::string> Command(int i) const;
  std::string File(int i, const std::string& suffix) const;
  absl::Status Notice(int i);
  absl::Status AwaitEnd(int i, absl::Time until);
  void Record(int i, Event::What what, const std::string& detail = "");
  Member& worker(int i) { return workers_[static_cast<size_t>(i)]; }

  const CrewOptions options_;
  Resource resource_;
  std::unique_ptr<Recorder> recorder_;
  std::vector<std::string> histories_;
  std::deque<Member> workers_;
};

}  // namespace zkrecipes::history

#endif  // ZKRECIPES_VERIFICATION_WORKLOAD_CREW_H_
