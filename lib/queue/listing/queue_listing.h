// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_LIB_QUEUE_LISTING_QUEUE_LISTING_H_
#define ZKRECIPES_LIB_QUEUE_LISTING_QUEUE_LISTING_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"

#include "lib/queue/machine/node_name.h"
#include "lib/session/session.h"
#include "zkrecipes/contenders.h"

namespace zkrecipes::queue::listing {

// Pure: describes a queue's nodes, in queue order. Nodes that are not contenders are left out.
std::vector<ContenderInfo> DescribeQueue(const std::vector<machine::ListedNode>& nodes);

// Lists the children of `parent`, then reads the contenders among them, all at once. `done` runs
// once, on the reactor. Nodes deleted in between are left out; one that this client may not read
// has a name alone.
void ReadQueue(session::Session& session, const std::string& parent,
               absl::AnyInvocable<void(absl::StatusOr<std::vector<machine::ListedNode>>) &&> done);

// The same behind a committed barrier, so the answer is no older than the question, however far the
// server lags. Unavailable: the barrier was not confirmed.
void ReadQueueNow(
    session::Session& session, const std::string& parent,
    absl::AnyInvocable<void(absl::StatusOr<std::vector<machine::ListedNode>>) &&> done);

// As ReadQueue for only the first in the queue; nullopt if the queue is empty. Two requests.
void ReadHead(session::Session& session, const std::string& parent,
              absl::AnyInvocable<void(absl::StatusOr<std::optional<machine::ListedNode>>) &&> done);

}  // namespace zkrecipes::queue::listing

#endif  // ZKRECIPES_LIB_QUEUE_LISTING_QUEUE_LISTING_H_
