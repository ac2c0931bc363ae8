// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_CONTESTANT_H_
#define ZKRECIPES_BENCH_CONTESTANT_H_

#include <atomic>
#include <memory>
#include <string>

namespace bench {

enum class Mode { kExclusive, kShared };

struct Place {
  std::string servers;
  std::string path;  // of the lock
  int session_ms = 40'000;
  bool readers = false;  // it is a read/write lock; kShared is of such a one only
  int process = 0;       // contestants of one share a lock that stays with it
};

// One client with a session of its own, and one lock. One thread. Whatever fails ends the program.
class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual void Acquire(Mode mode) = 0;
  virtual void Release() = 0;  // returns once the node is gone
};

std::unique_ptr<Contestant> ConnectOurs(const Place& place);
// With the metrics of docs/metrics.md; with a log in which nothing is written.
std::unique_ptr<Contestant> ConnectMetered(const Place& place);
std::unique_ptr<Contestant> ConnectLogged(const Place& place);
// The same requests sent by a bare program on the single-threaded C client, which the thread that
// waits drives: what ZooKeeper and its client cost without any library.
std::unique_ptr<Contestant> ConnectFloor(const Place& place);

// A thread with a CachedLock, which it shares with others of its process.
std::unique_ptr<Contestant> ConnectKept(const Place& place);
// `servers`: Redis' socket; a connection string of PostgreSQL's.
std::unique_ptr<Contestant> ConnectRedis(const Place& place);
std::unique_ptr<Contestant> ConnectPostgres(const Place& place);

// One client with many waiters for one lock. Each releases the lock as soon as it is granted, and
// is counted; the one that makes the count `most` keeps it. Whatever fails ends the program.
struct Turns {
  explicit Turns(int m) : most(m) {}
  const int most;
  std::atomic<int> granted = 0;
};
class Crowd {
 public:
  virtual ~Crowd() = default;  // ends the session
  virtual void Add() = 0;      // one more waiter begins to queue; does not block
};

std::unique_ptr<Crowd> GatherOurs(const Place& place, std::shared_ptr<Turns> turns);
std::unique_ptr<Crowd> GatherFloor(const Place& place, std::shared_ptr<Turns> turns);

}  // namespace bench

#endif  // ZKRECIPES_BENCH_CONTESTANT_H_
