// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_TCP_PROXY_H_
#define ZKRECIPES_INTEGRATION_TCP_PROXY_H_

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "lib/base/mutex.h"

namespace zkrecipes::integration {

// A port on 127.0.0.1 that leads to one server, and can misbehave as networks do. Thread-safe.
class TcpProxy {
 public:
  explicit TcpProxy(const std::string& server);  // "127.0.0.1:2181"
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  std::string address() const;  // "127.0.0.1:20001"

  // When they return, it is so.
  void ResetAll();                 // RST to both ends of every connection
  void HoldReplies(bool hold);     // what the servers send waits
  void HoldEverything(bool hold);  // what either end sends waits; new connections are accepted

 private:
  struct Connection {
    int client;
    int server;
    std::string to_client{};
    std::string to_server{};
  };

  void Run();
  bool Round();
  void Do(std::function<void()> command);
  void Accept();
  bool Forward(Connection& connection);
  static void Reset(const Connection& connection);

  const int server_port_;
  int listener_ = -1;
  int wake_ = -1;
  base::Mutex mutex_;
  std::list<std::function<void()>> commands_ ABSL_GUARDED_BY(mutex_);

  // Of the thread.
  std::list<Connection> connections_;
  bool hold_requests_ = false;
  bool hold_replies_ = false;
  bool stopped_ = false;

  std::thread thread_;  // last: it uses all the others
};

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_TCP_PROXY_H_
