// SPDX-License-Identifier: Apache-2.0
//
// Paths of ZooKeeper as texts, and strangers' texts in messages.

#ifndef ZKRECIPES_LIB_BASE_PATH_H_
#define ZKRECIPES_LIB_BASE_PATH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace zkrecipes::base {

inline constexpr size_t kMaxPathBytes = 512;
// The longest name of a contender's node: lib/queue/machine/node_name.h holds it to this.
inline constexpr size_t kMaxContenderNameBytes = 59;

// Checks a path that a user gave for a recipe. InvalidArgument names the path and the rule it
// breaks: absolute, not the root, no empty, "." or ".." component, no trailing slash, valid UTF-8
// without characters that ZooKeeper refuses (control characters, private use U+E000-F8FF, U+FFF0
// and above, where emoji are), nothing at or below /zookeeper, at most `max_bytes`. `what` names
// the input in the message ("lock path").
absl::Status ValidatePath(absl::string_view what, const std::string& path,
                          size_t max_bytes = kMaxPathBytes);

// A stranger's text for a message: in quotes, on a single line, of bounded length, and without
// anything that a terminal obeys or that is no UTF-8.
std::string Quoted(absl::string_view text);

// The same without quotes and of any length; as it is where nothing in it has to be escaped.
std::string Printable(absl::string_view text);

// Well-formed UTF-8: no overlong forms, no surrogates.
bool IsUtf8(absl::string_view text);
// Takes one such character off the front. Nullopt, and nothing is taken, if it is none. REQUIRES:
// `text` is not empty.
std::optional<uint32_t> TakeCharacter(absl::string_view& text);

// "/a/b" of "/a/b/c"; "/" of "/a". REQUIRES: path is absolute and not the root.
std::string ParentPath(const std::string& path);
// "c" of "/a/b/c", where it is in it.
absl::string_view NodeName(absl::string_view path ABSL_ATTRIBUTE_LIFETIME_BOUND);
std::string JoinPath(const std::string& parent, absl::string_view name);

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_PATH_H_
