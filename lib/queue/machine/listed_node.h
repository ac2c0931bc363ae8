// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_MACHINE_LISTED_NODE_H_
#define ZKRECIPES_LIB_QUEUE_MACHINE_LISTED_NODE_H_

#include <string>

#include "lib/zk/seam/types.h"

namespace zkrecipes::queue::machine {

struct ListedNode {
  std::string name;
  std::string data;
  zk::Stat stat;
  friend bool operator==(const ListedNode&, const ListedNode&) = default;
};

}  // namespace zkrecipes::queue::machine

#endif  // ZKRECIPES_LIB_QUEUE_MACHINE_LISTED_NODE_H_
