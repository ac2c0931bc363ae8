// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_ZK_LOOP_POLLABLE_FIXTURE_H_
#define ZKRECIPES_LIB_ZK_LOOP_POLLABLE_FIXTURE_H_

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/unique_fd.h"
#include "lib/zk/c_client/c_client.h"

namespace zkrecipes::zk::loop {

class Pipe {
 public:
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    out_ = base::UniqueFd(ends[0]);
    in_ = base::UniqueFd(ends[1]);
  }
  int out() const { return out_.get(); }
  int in() const { return in_.get(); }
  void Write() { EXPECT_EQ(write(in(), "x", 1), 1); }

 private:
  base::UniqueFd out_, in_;
};

// Wants what a test says, and keeps what it is told.
struct FakePollable : c_client::Pollable {
  explicit FakePollable(int fd) : interest{.fd = fd, .events = POLLIN} {}
  void Drain() override {
    ++drained;
    on_drain();
  }
  Interest Prepare() override {
    on_prepare();
    return interest;
  }
  void OnReady(short revents) override {
    heard.push_back(revents);
    on_ready();
  }

  Interest interest;
  std::function<void()> on_drain = [] {}, on_prepare = [] {}, on_ready = [] {};
  std::vector<short> heard;
  int drained = 0;
};

// The members of each epoll set of this process; of one that was closed elsewhere still its
// number.
using Sets = std::map<std::string, std::multiset<int>>;
inline Sets SetsOfThisProcess() {
  Sets sets;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream lines(one.path());
    for (std::string word; lines >> word;) {
      int number;
      if (word == "tfd:" && lines >> number) sets[one.path()].insert(number);
    }
  }
  return sets;
}

// One of those that has a certain member. (Loops of other tests may just be ending.)
struct SetWith {
  explicit SetWith(int fd) {
    for (const auto& [set, its] : SetsOfThisProcess()) {
      if (!its.contains(fd)) continue;
      number = std::stoi(std::filesystem::path(set).filename());
      members = its;
    }
  }
  int number = -1;
  std::multiset<int> members;
};

}  // namespace zkrecipes::zk::loop

#endif  // ZKRECIPES_LIB_ZK_LOOP_POLLABLE_FIXTURE_H_
