// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_BASE_SECRET_H_
#define ZKRECIPES_LIB_BASE_SECRET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace zkrecipes::base {

// Overwrites all that the string has room for, and empties it.
void Wipe(std::string& text);

// Empties each, and itself.
void Wipe(std::vector<std::string>& texts);

// A password. There is one copy of it, which all copies of this share, and which is overwritten
// when the last of them goes.
class Secret {
 public:
  explicit Secret(absl::string_view text);

  absl::string_view text() const;

  friend bool operator==(const Secret& a, const Secret& b) { return a.text() == b.text(); }

 private:
  struct Held;
  std::shared_ptr<const Held> held_;
};

using Secrets = std::vector<Secret>;

// Wipes `texts`.
Secrets TakeSecrets(std::vector<std::string>& texts);

}  // namespace zkrecipes::base

#endif  // ZKRECIPES_LIB_BASE_SECRET_H_
