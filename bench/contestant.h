// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_CONTESTANT_H_
#define ZKRECIPES_BENCH_CONTESTANT_H_

#include <memory>
#include <string>
#include <vector>

namespace bench {

enum class Mode { kExclusive, kShared };

// One client with a session of its own, and one lock. One thread. Whatever fails ends the program.
class Contestant {
 public:
  virtual ~Contestant() = default;
  virtual void Acquire(Mode mode) = 0;
  virtual void Release() = 0;  // returns once the node is gone
};

struct Entrant {
  const char* name;
  std::unique_ptr<Contestant> (*connect)(const std::string& servers, const std::string& path);
};

std::unique_ptr<Contestant> ConnectOurs(const std::string& servers, const std::string& path);
// The same requests sent by a bare program on the single-threaded C client, which the thread that
// waits drives: what ZooKeeper and its client cost without any library.
std::unique_ptr<Contestant> ConnectFloor(const std::string& servers, const std::string& path);

// The first is what the others are compared with.
inline const std::vector<Entrant>& Entrants() {
  static const std::vector<Entrant> entrants = {{"floor", ConnectFloor}, {"ours", ConnectOurs}};
  return entrants;
}

}  // namespace bench

#endif  // ZKRECIPES_BENCH_CONTESTANT_H_
