// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_DEMO_CREW_H_
#define ZKRECIPES_DEMO_CREW_H_

#include <signal.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "zkrecipes/fencing/fencing_floor.h"

namespace demo {

// The resource that the lock guards, seen from the resource's side: it knows nothing of ZooKeeper
// and trusts no client. Its floor refuses whatever is older than what it has been shown.
class Ledger {
 public:
  // A new token begins a new owner's turn. False if a later turn has begun: then the write is
  // stale.
  bool Write(const zkrecipes::FencingPass& pass, const std::string& worker) {
    const zkrecipes::FencingToken turn = floor_.exclusive;
    if (!floor_.Admit(pass).ok()) {
      ++refused_;
      return false;
    }
    // One token belongs to one owner: two names with it would be two owners at once.
    if (pass.token == turn && worker != owner_) ++overlaps_;
    owner_ = worker;
    ++accepted_;
    return true;
  }

  int accepted() const { return accepted_; }
  int refused() const { return refused_; }
  int overlaps() const { return overlaps_; }  // writes accepted from two owners in one turn

 private:
  zkrecipes::FencingFloor floor_;
  std::string owner_;
  int accepted_ = 0;
  int refused_ = 0;
  int overlaps_ = 0;
};

// The worker processes, and what they report. Prints each event as it comes. Thread-safe.
class Crew {
 public:
  // The events so far.
  struct Tally {
    int grants = 0;
    bool tokens_grew = true;
    int64_t last_token = 0;
    Ledger ledger = {};
  };

  Crew(std::string servers, std::string path);
  ~Crew();  // ends the workers

  void Start(int workers);

  // Blocks until a worker is granted the lock and has written under it. Returns the worker's index,
  // or -1 after `seconds`.
  int AwaitHolder(int seconds);
  // Blocks until the ledger has refused a write of this worker; false after `seconds`.
  bool AwaitStaleWrite(int worker, int seconds);

  void Kill(int worker) { Signal(worker, SIGKILL, "which holds the lock"); }
  void Pause(int worker) {
    Signal(worker, SIGSTOP, "which holds the lock, for longer than its session lives");
  }
  void Resume(int worker) { Signal(worker, SIGCONT, "which does not know yet what it missed"); }

  Tally tally() const;
  void Print(const std::string& line) const;

 private:
  struct Member;

  void Read(Member& member);
  void OnLine(Member& member, const std::string& line);
  bool Await(const std::function<bool()>& done, int seconds);
  void Signal(int worker, int signal, const std::string& why);

  const std::string servers_;
  const std::string path_;
  const int64_t start_ms_;

  mutable std::mutex mutex_;
  std::condition_variable happened_;
  std::vector<std::unique_ptr<Member>> members_;
  int holder_ = -1;
  int writes_in_turn_ = 0;
  Tally tally_;
};

// The program of a worker: takes the lock again and again, and writes to the ledger while it holds
// it. It talks to the crew over its stdin and stdout, a line each:
//
//   -> "grant TOKEN"       it holds the lock
//   -> "write TOKEN"       a write for the ledger        <- "accepted" or "stale"
//   -> "lost TOKEN"        it has learnt that its lease is lost
//
// It deliberately does not check Lease::state() before it writes: the ledger must cope with that.
// It ends when its stdin is closed.
int RunWorker(const std::string& servers, const std::string& path);

}  // namespace demo

#endif  // ZKRECIPES_DEMO_CREW_H_
