// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_SEQUENCER_H_
#define ZKRECIPES_SEQUENCER_H_

#include <string>

#include "absl/status/statusor.h"

#include "zkrecipes/fencing_token.h"

namespace zkrecipes {

// Names one grant, so that another party can check it: the recipe's path, how it was locked, the token, and
// the node behind it. As text, "zkr1:exclusive:4294967302:/locks/a/_c_...-lock-0000000007": it
// holds no secret, and what passes it on need not understand it.
struct Sequencer {
  std::string mode;  // "exclusive", "shared" or "leader"
  FencingToken token;
  std::string node;  // full path of the znode, within the client's namespace

  std::string path() const;  // the recipe's: the node's parent
  std::string ToString() const;
  // InvalidArgument if the text is no sequencer.
  static absl::StatusOr<Sequencer> Parse(const std::string& text);

  friend bool operator==(const Sequencer&, const Sequencer&) = default;
};

}  // namespace zkrecipes

#endif  // ZKRECIPES_SEQUENCER_H_
