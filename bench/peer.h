// SPDX-License-Identifier: Apache-2.0
//
// The protocol of the pipes: a peer greets with a line of JSON, then answers each line with a line.
// A task is {"run": NAME, "servers": LIST, "path": PATH} with
//   "cycle"      "times"
//   "hand-over"  "times", and "settle_ms": how long to wait until the waiter waits
//   "cycles"     "clients", "locks", "readers" (nine of ten), "warm" and "seconds" after that
//   "hold", "wait"  "session_ms". An acquire; the first keeps the lock until the process is killed
// An answer has "value", if the peer can do that, and what an operation used: "cpu us", "switches".

#ifndef ZKRECIPES_BENCH_PEER_H_
#define ZKRECIPES_BENCH_PEER_H_

#include <sys/types.h>

#include <cstdio>
#include <map>
#include <string>

namespace bench {

// Another process, which ends when its standard input does. What fails ends the program. One
// thread.
class Peer {
 public:
  explicit Peer(const std::string& command);  // of a shell; returns once it has greeted
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Servers that it has brought with it; "" if it uses ZooKeeper's.
  const std::string& servers() const { return servers_; }
  std::map<std::string, double> Ask(const std::string& task);  // blocks until it has answered
  void Kill();                                                 // SIGKILL

 private:
  std::string Hear();

  const std::string command_;
  pid_t pid_ = 0;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
  std::string servers_;
};

}  // namespace bench

#endif  // ZKRECIPES_BENCH_PEER_H_
