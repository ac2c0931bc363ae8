// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_SERVERS_TCP_PROXY_H_
#define ZKRECIPES_INTEGRATION_SERVERS_TCP_PROXY_H_

#include <netinet/in.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

#include "lib/base/boot_time.h"
#include "lib/base/mutex.h"
#include "lib/base/unique_fd.h"

namespace zkrecipes::servers {

struct Slowness {
  absl::Duration each_way = absl::ZeroDuration();
  int bytes_per_second = 0;  // 0: as fast as it goes
  bool held = false;         // nothing is delivered until that is over
};

// The traffic so far. From many threads at once.
struct Traffic {
  std::atomic<int64_t> requests = 0;  // frames of ZooKeeper's protocol from clients, but not pings
  std::atomic<int64_t> bytes = 0;     // both ways
};

// Counts the requests among the bytes that a client sends, whatever their pieces.
class RequestCounter {
 public:
  int Count(absl::string_view bytes);

 private:
  std::string head_;  // the first eight bytes of the frame that is passing
  size_t rest_ = 0;   // how many more of its bytes are to come
};

// One direction of a connection: what one socket receives is sent on another, later. Sockets that
// do not block. `slowness` may change, and must outlive it. Not thread-safe.
class SlowPipe {
 public:
  SlowPipe(int from, int to, const Slowness& slowness)
      : from_(from), to_(to), slowness_(slowness) {}

  // Takes what is there, if `from` has something, and delivers what is due. False: the connection
  // broke.
  bool Move(bool has, base::BootTime now) { return (!has || Take(now)) && Deliver(now); }
  std::string Taken() { return std::exchange(taken_, {}); }  // by the last Move

  bool over() const { return ended_ && held_.empty(); }     // all is delivered, also the end
  bool lost() const { return ended_ && slowness_.held; }    // it ended with what is held back
  bool takes() const { return !ended_ && bytes_ < kMost; }  // waits for `from` to have something
  bool full(base::BootTime now) const { return next() <= now; }  // waits for `to` to have room
  base::BootTime next() const;                                   // when something is due

 private:
  static constexpr size_t kMost = 1 << 20;

  struct Piece {
    base::BootTime due;
    std::string bytes;  // empty: the end
  };

  bool Take(base::BootTime now);
  bool Deliver(base::BootTime now);

  const int from_;
  const int to_;
  const Slowness& slowness_;
  base::BootTime free_at_;  // when all that was taken has passed the narrow part
  std::deque<Piece> held_;
  size_t bytes_ = 0;
  std::string taken_;
  bool ended_ = false;
};

// A port of 127.0.0.1 whose connections are led on, and can misbehave as networks do. What is said
// on one arrives whole and in order. A connection is accepted at once, whatever becomes of it
// farther on. One thread, which never blocks on a connection. Thread-safe.
class TcpProxy {
 public:
  // Marks the sockets that lead on (SO_MARK): these are not to be redirected.
  static constexpr int kMark = 0x7a6b;

  explicit TcpProxy(const std::string& server, const Slowness& slowness = {});  // "127.0.0.1:2181"
  // In a network namespace, for connections that the kernel redirects there: each is led on to
  // where it was going, and is this slow.
  //   Internal  the namespace is gone or not ours to enter
  static absl::StatusOr<std::unique_ptr<TcpProxy>> OfRedirected(
      const std::string& network_namespace, const Slowness& slowness);
  // Resets all connections.
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  int port() const;
  std::string address() const;  // "127.0.0.1:20001"
  const Traffic& traffic() const { return traffic_; }

  // Each has taken effect when it returns. A connection that one end closes while something is held
  // back is over, and what was held back is lost.
  void ResetAll();                 // RST to both ends of every connection
  void HoldReplies(bool hold);     // holds back what the server sends
  void HoldEverything(bool hold);  // holds back both directions; new connections are accepted

 private:
  struct Connection {
    base::UniqueFd client;
    base::UniqueFd server;
    SlowPipe up;
    SlowPipe down;
    RequestCounter counter = {};
  };

  TcpProxy(std::optional<sockaddr_in> server, const Slowness& slowness);
  void Run();
  void Round();
  bool Move(Connection& connection, bool client_has, bool server_has);
  void Do(std::function<void()> command);
  void Accept();
  base::UniqueFd LeadOn(int client) const;
  static void Break(Connection& connection);

  Traffic traffic_;
  const std::optional<sockaddr_in> server_;  // none: as the kernel says
  const base::UniqueFd listener_;
  const base::UniqueFd wake_;  // an eventfd
  base::Mutex mutex_;
  std::list<std::function<void()>> commands_ ABSL_GUARDED_BY(mutex_);

  // Used by the thread only.
  Slowness up_;
  Slowness down_;
  std::list<Connection> connections_;
  bool stopped_ = false;

  std::thread thread_;  // last: it uses all members above
};

}  // namespace zkrecipes::servers

namespace zkrecipes::integration {
using servers::TcpProxy;
}

#endif  // ZKRECIPES_INTEGRATION_SERVERS_TCP_PROXY_H_
