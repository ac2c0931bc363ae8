// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_FLOOR_SESSION_H_
#define ZKRECIPES_BENCH_FLOOR_SESSION_H_

#include <chrono>
#include <string>
#include <vector>

struct _zhandle;  // zookeeper.h's zhandle_t

namespace bench {

void FloorOrEnd(int code, const char* what);

// A session of ZooKeeper's single-threaded C client, driven by the one thread that uses it.
class FloorSession {
 public:
  FloorSession(const std::string& servers, int session_ms);  // returns once it is connected
  ~FloorSession();
  FloorSession(const FloorSession&) = delete;
  FloorSession& operator=(const FloorSession&) = delete;

  _zhandle* handle() const { return zh_; }
  // Flushes, waits for the socket (or `wake`, a descriptor that gets readable) and reads from it.
  void Turn(int wake = -1);

  void Sent(int code) {  // what zoo_a* returned
    FloorOrEnd(code, "send");
    ++unanswered_;
  }
  void Answered() { --unanswered_; }
  void Drive() {  // until all is answered
    while (unanswered_ > 0) Turn();
  }
  void Create(const std::string& path);  // if it is not there

 private:
  _zhandle* zh_ = nullptr;
  int unanswered_ = 0;
};

// "-0000000001" of "write-0000000001"
inline std::string SequenceOf(const std::string& node) { return node.substr(node.rfind('-')); }
// The nearest of `children` in front of `mine`, or "". A reader passes readers.
std::string NearestInFront(const std::vector<std::string>& children, const std::string& mine,
                           bool reader);

// Looks at a lock's queue from outside, as whatever entrant's it is. One thread.
class Witness {
 public:
  Witness(const std::string& servers, std::string path);

  void AwaitQueue(int contenders);  // until there are so many
  void WatchFirst();
  std::chrono::steady_clock::time_point AwaitEndOfFirst();  // when it was told

 private:
  std::vector<std::string> Children();

  const std::string path_;
  FloorSession session_;
  std::vector<std::string> children_;
  bool gone_ = false;
};

}  // namespace bench

#endif  // ZKRECIPES_BENCH_FLOOR_SESSION_H_
