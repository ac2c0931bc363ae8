// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_DEMO_CREW_H_
#define ZKRECIPES_DEMO_CREW_H_

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "demo/ledger.h"

namespace demo {

// The worker processes, and what they say. Prints each event as it comes. Thread-safe.
class Crew {
 public:
  Crew(Ledger& ledger, std::string servers, std::string path);
  ~Crew();  // ends the workers

  void Start(int workers);

  // Blocks until somebody holds the lock and has written at least once in its turn; the index of
  // that worker, or -1 after `seconds`.
  int AwaitHolder(int seconds);
  // Blocks until `done(*this)`, which is looked at whenever something happens; false after `seconds`.
  bool Await(const std::function<bool()>& done, int seconds);

  void Kill(int worker);   // SIGKILL
  void Pause(int worker);  // SIGSTOP
  void Resume(int worker);

  // What happened so far.
  int grants() const;
  bool tokens_grew() const;
  int stale_writes_of(int worker) const;
  int64_t last_token() const;

  void Print(const std::string& line);

 private:
  struct Worker {
    std::string name;
    pid_t pid = 0;
    int to = -1;
    int from = -1;
    std::thread reader;
    int stale = 0;
    bool alive = true;
  };

  void Spawn(Worker& worker);
  void Read(int index);
  void OnLine(int index, const std::string& line);
  std::string Stamp() const;

  Ledger& ledger_;
  const std::string servers_;
  const std::string path_;
  const int64_t start_ms_;

  mutable std::mutex mutex_;
  std::condition_variable happened_;
  std::vector<std::unique_ptr<Worker>> workers_;
  int holder_ = -1;
  int writes_in_turn_ = 0;
  int grants_ = 0;
  int64_t last_token_ = 0;
  bool tokens_grew_ = true;
};

}  // namespace demo

#endif  // ZKRECIPES_DEMO_CREW_H_
