// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TCP_PROXY_H_
#define ZKRECIPES_INTEGRATION_TCP_PROXY_H_

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "lib/base/mutex.h"

namespace zkrecipes::integration {

// A port on 127.0.0.1 that leads to servers on 127.0.0.1, and can misbehave as networks do.
// Thread-safe.
class TcpProxy {
 public:
  explicit TcpProxy(const std::string& server);  // leads to this one: "127.0.0.1:2181"
  TcpProxy();                                    // SOCKS 5: leads where each client asks it to
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  std::string address() const;  // "127.0.0.1:20001"

  // When they return, it is so.
  void ResetAll();                 // RST to both ends of every connection
  void HoldReplies(bool hold);     // what the servers send waits
  void HoldEverything(bool hold);  // what either end sends waits; new connections are accepted
  // Packets to and from these ports of servers are dropped: connections stay open and silent, even
  // if one end closes; new ones get no answer. All others are healed: what was silent is reset.
  void CutOnly(const std::set<int>& ports);

 private:
  struct Connection {
    int client;
    int server;
    int port;  // the server's
    std::string to_client{};
    std::string to_server{};
  };

  explicit TcpProxy(int server_port);
  void Run();
  bool Round();
  void Do(std::function<void()> command);
  void Accept();
  bool ConnectOn(Connection& connection) const;
  bool Cut(const Connection& connection) const { return cut_.count(connection.port) != 0; }
  bool Forward(Connection& connection);
  static void Reset(const Connection& connection);

  const int server_port_;  // 0: SOCKS
  int listener_ = -1;
  int wake_ = -1;
  base::Mutex mutex_;
  std::list<std::function<void()>> commands_ ABSL_GUARDED_BY(mutex_);

  // Of the thread.
  std::list<Connection> connections_;
  bool hold_requests_ = false;
  bool hold_replies_ = false;
  std::set<int> cut_;
  bool stopped_ = false;

  std::thread thread_;  // last: it uses all the others
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TCP_PROXY_H_
