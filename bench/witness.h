// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_BENCH_WITNESS_H_
#define ZKRECIPES_BENCH_WITNESS_H_

#include <chrono>
#include <string>
#include <vector>

#include "bench/floor_session.h"

namespace bench {

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

#endif  // ZKRECIPES_BENCH_WITNESS_H_
