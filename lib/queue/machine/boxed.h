// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_BOXED_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_BOXED_H_

#include <memory>
#include <utility>

namespace zkrecipes::queue::machine {

// A value that few machines have, so that it costs the others a pointer. Copied, compared and
// hashed as the value; without one, equal to another without one. Pure.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  explicit Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const Boxed& a, const Boxed& b) { return a && b ? *a == *b : !a && !b; }
  template <typename H>
  friend H AbslHashValue(H h, const Boxed& b) {
    return b ? H::combine(std::move(h), true, *b) : H::combine(std::move(h), false);
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_BOXED_H_
