// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_PROXY_H_
#define ZKRECIPES_BENCH_PROXY_H_

#include <netinet/in.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

// The traffic so far, in both directions.
struct Traffic {
  int64_t requests = 0;  // frames of ZooKeeper's protocol from clients, but not pings
  int64_t bytes = 0;
};

// One way of a connection: bytes are sent on after `delay`.
struct Pipe {
  struct Piece {
    Clock::time_point due;
    std::string bytes;
  };
  int from;
  int to;
  std::deque<Piece> held = {};
  // Of the frame that is passing: its first eight bytes, and how many bytes are still to come.
  std::string head = "";
  int64_t rest = 0;
};

// Stands between clients and servers, forwards with a delay each way, and counts. What it cannot do
// ends the program. One thread.
class Proxy {
 public:
  Proxy(const std::string& servers, std::chrono::microseconds each_way);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  const std::string& servers() const { return here_; }  // to connect to instead
  Traffic traffic() const { return {requests_, bytes_}; }

 private:
  struct Door {
    int listener;
    sockaddr_in server;
  };
  struct Connection {
    Pipe up, down;
    bool over = false;
  };

  void Run();
  void Accept(const Door& door);
  void Take(Connection& connection, Pipe& pipe);
  void Deliver(Connection& connection, Pipe& pipe);
  void CountFrames(Pipe& pipe, const char* bytes, int64_t size);

  const std::chrono::microseconds each_way_;
  std::string here_;
  std::vector<Door> doors_;
  std::list<Connection> connections_;
  std::atomic<int64_t> requests_ = 0;
  std::atomic<int64_t> bytes_ = 0;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

}  // namespace bench

#endif  // ZKRECIPES_BENCH_PROXY_H_
