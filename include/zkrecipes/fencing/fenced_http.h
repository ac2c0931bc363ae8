// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_FENCING_FENCED_HTTP_H_
#define ZKRECIPES_FENCING_FENCED_HTTP_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "zkrecipes/fencing/fencing_floor.h"
#include "zkrecipes/fencing/fencing_gate.h"

// Fencing over HTTP, with any HTTP library: the headers of a client's requests and of a service's
// answers. All but AdmitRequest are functions of text. examples/fenced_http.cc is a service that
// uses them.
//
//   PUT /ledger/7
//   Fencing-Token: 4294967302; epoch=1; mode=shared
//
//   412 Precondition Failed
//   Fencing-Floor: 4294967310; epoch=1; shared=4294967311
namespace [[gnu::visibility("default")]] zkrecipes {

inline constexpr char kFencingTokenHeader[] = "Fencing-Token";
inline constexpr char kFencingFloorHeader[] = "Fencing-Floor";

// The value of Fencing-Token: the token, then the epoch, the mode and the turn where they differ
// from 0, exclusive and 0. A token alone, "4294967302", is an exclusive holder's without turns.
std::string ToHttpHeader(const FencingPass& pass);
// Reads a value that ToHttpHeader wrote, with the parameters in any order, and with or without a
// space after the semicolon.
//   InvalidArgument     anything else, such as " 7", "7,8", "7; epoch=-1" or a parameter that this
//                       version does not know, since it may change the meaning of the others
absl::StatusOr<FencingPass> ParseFencingTokenHeader(const std::string& value);

// The value of Fencing-Floor: the exclusive token, then epoch, shared and turn if not 0.
std::string ToHttpHeader(const FencingFloor& floor);
//   InvalidArgument     as ParseFencingTokenHeader
absl::StatusOr<FencingFloor> ParseFencingFloorHeader(const std::string& value);

// The service's answer to a request that it refuses.
struct HttpRefusal {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};  // text/plain: why
};

// The service's side: shows the gate the pass of a request. `values` are the values of all its
// Fencing-Token headers. Null: admitted. Otherwise
//   412  the pass is stale; Fencing-Floor has the floor
//   428  there is no Fencing-Token
//   400  there are two, it is malformed, its token is 0, or a reader has a turn; or the key is too
//        long
//   503  the gate's store failed, or the gate has no place: another try may succeed
// Call it inside the operation, under the mutex that makes the operation on that key atomic, and
// not in a filter before it: in between, a newer holder could raise the floor and write.
// Authenticate before: a client that shows a huge token shuts all others out.
std::optional<HttpRefusal> AdmitRequest(FencingGate& gate, const std::string& key,
                                        const std::vector<std::string>& values);
// The same, for a FencingKey.
std::optional<HttpRefusal> AdmitRequest(FencingKey& key, const std::vector<std::string>& values);

// The client's side: whether an answer refuses the pass. `floor` is the value of its Fencing-Floor,
// or "". OK for every other answer, also for a 412 of another condition (If-Match).
//   FailedPrecondition  the pass is stale: its holder has lost the lock. The message names the
//                       floor
absl::Status CheckHttpAnswer(int status, const std::string& floor);

}  // namespace zkrecipes

#endif  // ZKRECIPES_FENCING_FENCED_HTTP_H_
