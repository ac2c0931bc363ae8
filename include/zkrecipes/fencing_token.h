// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_TOKEN_H_
#define ZKRECIPES_FENCING_TOKEN_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

#include "zkrecipes/version.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The czxid of the znode that won. A path's tokens increase from grant to grant, across sessions,
// changes of leader and deletion of the parent. Pass the token to the guarded resource with every
// write, and have the resource reject any token lower than the highest it has seen: only this stops
// an owner that does not know yet that it has lost the lock. Restoring an old backup of the
// ensemble sets tokens back.
class FencingToken {
 public:
  constexpr FencingToken() = default;  // 0: lower than every real token
  constexpr explicit FencingToken(int64_t czxid) : value_(czxid) {}

  constexpr int64_t value() const { return value_; }
  std::string ToString() const { return std::to_string(value_); }  // decimal
  // As ToString writes it. InvalidArgument for anything else, such as " 7", "+7", "07" or 0.
  static absl::StatusOr<FencingToken> Parse(const std::string& text);

  friend constexpr auto operator<=>(FencingToken, FencingToken) = default;
  friend std::ostream& operator<<(std::ostream& out, FencingToken token) {
    return out << token.value_;
  }
  // For absl::StrFormat("%v") and absl::StrCat, where Abseil has them. For fmt: fmt::streamed.
  template <typename Sink>
  friend void AbslStringify(Sink& sink, FencingToken token) {
    sink.Append(token.ToString());
  }
  template <typename H>
  friend H AbslHashValue(H h, FencingToken token) {
    return H::combine(std::move(h), token.value_);
  }

 private:
  int64_t value_ = 0;
};

}  // namespace zkrecipes

template <>
struct std::hash<zkrecipes::FencingToken> {
  size_t operator()(zkrecipes::FencingToken token) const noexcept {
    return std::hash<int64_t>()(token.value());
  }
};

#endif  // ZKRECIPES_FENCING_TOKEN_H_
