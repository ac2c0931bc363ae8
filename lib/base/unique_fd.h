// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_UNIQUE_FD_H_
#define ZKRECIPES_LIB_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace zkrecipes::base {

// Owns a file descriptor; -1 is none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { reset(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_UNIQUE_FD_H_
