// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_SEQUENCER_H_
#define ZKRECIPES_SEQUENCER_H_

#include <ostream>
#include <string>

#include "absl/status/statusor.h"

#include "zkrecipes/fencing_token.h"

namespace [[gnu::visibility("default")]] zkrecipes {

// The mode of a grant.
enum class GrantMode { kExclusive, kShared, kLeader };
std::string ToString(GrantMode mode);  // "exclusive", "shared", "leader"
std::ostream& operator<<(std::ostream& out, GrantMode mode);

// Identifies one grant, so that another party can check it: the recipe's path, the mode, the token,
// and the node behind it. It contains no secret, and can be passed on as an opaque string:
//
//   zkr1:exclusive:4294967302:/locks/a/_c_...-lock-0000000007
//   zkr1:exclusive:4294967302:/team//locks/a/_c_...-lock-0000000007     in the namespace /team
//
// A later version of this library reads what this one writes. It refuses a text that it cannot
// read.
struct Sequencer {
  GrantMode mode = GrantMode::kExclusive;
  FencingToken token = {};
  std::string node = {};        // full path of the znode, within the client's namespace
  std::string name_space = {};  // of the client that holds it, "" or a path

  std::string path() const;  // the recipe's: the node's parent
  std::string ToString() const;
  // InvalidArgument if the text is not a sequencer.
  static absl::StatusOr<Sequencer> Parse(const std::string& text);

  friend bool operator==(const Sequencer&, const Sequencer&) = default;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_SEQUENCER_H_
