// SPDX-License-Identifier: Apache-2.0
//
// The frames of a multi. The C client takes as many answers as the server sends, and looks for as many
// operations of its own: one answer too many aborts the process, one of another kind is read as what it
// is not. Pure.

#ifndef ZKRECIPES_LIB_ZK_WIRE_MULTI_FRAMES_H_
#define ZKRECIPES_LIB_ZK_WIRE_MULTI_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace zkrecipes::zk::wire {

// One operation, as far as its answer depends on it.
struct MultiOp {
  int32_t type = 0;  // ZooKeeper's number
  size_t path_size = 0;
  size_t path_hash = 0;  // of a create: the new node has to have that path
};

// What follows a multi's header (xid, type), as the C client sends it.
std::vector<MultiOp> ReadMulti(absl::string_view body);

// What follows the header of its answer: one for each operation, all of them done or none. "", or what
// is wrong. An answer that names no operation as the cause of its failure is wrong: the C client would
// take it for a success.
std::string WrongMultiAnswer(const std::vector<MultiOp>& asked, absl::string_view body);

}  // namespace zkrecipes::zk::wire

#endif  // ZKRECIPES_LIB_ZK_WIRE_MULTI_FRAMES_H_
