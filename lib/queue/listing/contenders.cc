// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/contenders.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/queue/call/ask.h"
#include "lib/queue/listing/node_data.h"
#include "lib/queue/listing/queue_listing.h"
#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/permits.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes {

using queue::call::AskUntilAnswered;
using queue::listing::GrantModeOf;
using queue::listing::Nodes;

absl::StatusOr<std::vector<ContenderInfo>> queue::listing::ListQueue(internal::ClientCore& core,
                                                                     const std::string& path,
                                                                     const WaitOptions& wait,
                                                                     Read read, bool candidates) {
  if (absl::Status wrong = zk::ValidatePath("path", path); !wrong.ok()) return wrong;
  const auto nodes = AskUntilAnswered<Nodes>(
      core, "list " + path, wait,
      [parent = core.name_space().ToServer(path), read](session::Session& session, auto done) {
        read(session, parent, std::move(done));
      });
  if (!nodes.ok()) return nodes.status();
  // On this thread: a long queue must not keep the reactor from its leases.
  return DescribeQueue(*nodes, candidates);
}

namespace {

// A leader's node may be named as a lock's: only a reader's name is sure to say its mode.
bool SameMode(queue::machine::Mode mode, GrantMode granted) {
  return (GrantModeOf(mode) == GrantMode::kShared) == (granted == GrantMode::kShared);
}

// Whether the grant holds, by its queue and its node as they were behind a committed barrier.
absl::StatusOr<bool> Judge(const Sequencer& sequencer, const zk::Reply& listing,
                           const zk::Reply& node) {
  if (listing.code != zk::Code::kOk && listing.code != zk::Code::kNoNode) {
    return queue::call::AskedStatus(listing.code, "list", sequencer.path());
  }
  const absl::string_view own = zk::NodeName(sequencer.node);
  const auto name = queue::machine::ParseNodeName(own);
  // Neither the name nor the czxid of a node is ever used again, so this answer is final.
  if (!name.has_value() || node.code == zk::Code::kNoNode) return false;
  if (node.code == zk::Code::kNoAuth) {
    return absl::PermissionDeniedError(
        absl::StrCat("check ", sequencer.node, ": its ACL does not let this client read it"));
  }
  if (node.code != zk::Code::kOk) return queue::call::AskedStatus(node.code, "get", sequencer.node);
  const int64_t token = queue::listing::TokenIn(name->mode, node.data).value_or(node.stat.czxid);
  if (token != sequencer.token.value() || !SameMode(name->mode, sequencer.mode)) return false;
  // The node is the grant's. It holds unless another contender is in front of it: an upgraded
  // writer is not first before the reader that it follows has gone.
  if (name->mode == queue::machine::Mode::kPermit) {
    const size_t permits = queue::listing::PermitsIn(node.data);
    if (permits == 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "check ", sequencer.node, ": its data do not say of how many permits it is one"));
    }
    const auto permit = queue::machine::ViewPermits(listing.children, own, permits);
    return permit.listed && permit.granted;
  }
  const queue::machine::QueueView view =
      queue::machine::ViewQueue(listing.children, name->mode, own);
  return view.listed && view.in_front.empty();
}

// Three requests in one flight, which are answered in order.
void AskStanding(session::Session& session, const Sequencer& sequencer,
                 absl::AnyInvocable<void(absl::StatusOr<bool>) &&> done) {
  const auto barrier = queue::call::SendBarrier(session);
  const auto listing = std::make_shared<zk::Reply>();
  session.Send(zk::GetChildren{sequencer.name_space + sequencer.path()},
               [listing](const zk::Reply& reply) { *listing = reply; });
  session.Send(
      zk::Get{sequencer.name_space + sequencer.node},
      [barrier, listing, sequencer, done = std::move(done)](const zk::Reply& node) mutable {
        if (barrier->committed()) return std::move(done)(Judge(sequencer, *listing, node));
        std::move(done)(absl::UnavailableError("the quorum has confirmed nothing"));
      });
}

}  // namespace

absl::StatusOr<std::vector<ContenderInfo>> ListContenders(Client& client, const std::string& path,
                                                          const WaitOptions& wait) {
  return queue::listing::ListQueue(*internal::ClientAccess::Core(client), path, wait,
                                   queue::listing::ReadQueue);
}

absl::StatusOr<bool> CheckSequencer(Client& client, const Sequencer& sequencer,
                                    const WaitOptions& wait) {
  if (sequencer.node.empty()) {
    return absl::InvalidArgumentError("check: the sequencer is empty");
  }
  // A user may have made it by hand, of whatever is no path: "a/b", or "/a//b", which reads as a
  // node of a namespace.
  const auto parsed = Sequencer::Parse(sequencer.ToString());
  if (!parsed.ok()) return parsed.status();
  if (*parsed != sequencer) {
    return absl::InvalidArgumentError(absl::StrCat(
        "check: the sequencer's node ", zk::Quoted(sequencer.node), " must not contain \"//\""));
  }
  return AskUntilAnswered<bool>(*internal::ClientAccess::Core(client), "check " + sequencer.node,
                                wait, [sequencer](session::Session& session, auto done) {
                                  AskStanding(session, sequencer, std::move(done));
                                });
}

absl::Status BreakContender(Client& client, const std::string& path, FencingToken token,
                            const WaitOptions& wait) {
  const auto& core = internal::ClientAccess::Core(client);
  const base::BootTime deadline = core->Now() + wait.timeout;
  const auto queue = queue::listing::ListQueue(*core, path, wait, queue::listing::ReadQueueNow);
  if (!queue.ok()) return queue.status();
  const auto found = std::ranges::find(*queue, token, &ContenderInfo::token);
  // Without a czxid the node could not be read, so its token is not known.
  if (found == queue->end() || found->node_czxid == 0) {
    return absl::NotFoundError(
        absl::StrCat("break ", path, ": no contender has the token ", token.ToString()));
  }
  // The name is never used again: it can only be this contender's node that goes.
  const std::string node = core->name_space().ToServer(zk::JoinPath(path, found->node));
  const auto ask = [node](session::Session& session, auto done) {
    session.Send(zk::Delete{node}, [node, done = std::move(done)](const zk::Reply& reply) mutable {
      const bool gone = reply.code == zk::Code::kOk || reply.code == zk::Code::kNoNode;
      if (gone) return std::move(done)(true);
      std::move(done)(queue::call::AskedStatus(reply.code, "delete", node));
    });
  };
  // Listing and deletion share the caller's timeout.
  const WaitOptions rest = queue::call::Rest(*core, deadline, wait.cancel);
  return AskUntilAnswered<bool>(*core, "break " + path, rest, ask).status();
}

}  // namespace zkrecipes
