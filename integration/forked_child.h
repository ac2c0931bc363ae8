// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_INTEGRATION_FORKED_CHILD_H_
#define ZKRECIPES_INTEGRATION_FORKED_CHILD_H_

#include <sys/types.h>

#include <functional>
#include <utility>

#include "testing/unique_fd.h"

namespace zkrecipes::integration {

// One end of a line between a test and its forked child. Blocks.
class Line {
 public:
  explicit Line(testing::UniqueFd fd) : fd_(std::move(fd)) {}

  void Say();   // one word
  bool Hear();  // waits for one; false if the other end is closed, or after a minute

 private:
  testing::UniqueFd fd_;
};

// Runs `child` in a forked child, which then ends by exit(), so that static destructors run, and
// fails if an expectation failed there. It is killed after a minute.
class ForkedChild {
 public:
  explicit ForkedChild(const std::function<void(Line&)>& child);
  ~ForkedChild();  // kills it if nobody waited for its end
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  pid_t pid() const { return pid_; }
  Line& line() { return line_; }
  // Waits for its end, and fails the test if it failed.
  void Wait();

 private:
  pid_t pid_ = 0;
  Line line_;
};

// Likewise, and waits for it.
void RunInForkedChild(const std::function<void()>& child);

}  // namespace zkrecipes::integration

#endif  // ZKRECIPES_INTEGRATION_FORKED_CHILD_H_
