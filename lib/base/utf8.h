// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_UTF8_H_
#define ZKRECIPES_LIB_BASE_UTF8_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace zkrecipes::base {

// Takes one character off the front; nullopt, and nothing is taken, if it is not well-formed UTF-8
// (overlong forms and lone surrogates are not). REQUIRES: `text` is not empty. Pure.
std::optional<std::uint32_t> TakeCharacter(absl::string_view& text);

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_UTF8_H_
