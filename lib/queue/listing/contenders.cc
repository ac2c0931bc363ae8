// SPDX-License-Identifier: Apache-2.0

#include "zkrecipes/contenders.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "lib/queue/call/ask.h"
#include "lib/queue/listing/queue_listing.h"
#include "lib/queue/listing/standing.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes {
namespace {

using queue::call::AskUntilAnswered;
using Nodes = std::vector<queue::machine::ListedNode>;
using Read = void (*)(session::Session&, const std::string&,
                      absl::AnyInvocable<void(absl::StatusOr<Nodes>) &&>);

// `parent`: `path` on the server.
absl::StatusOr<std::vector<ContenderInfo>> List(internal::ClientCore& core, const std::string& path,
                                                const std::string& parent, const WaitOptions& wait,
                                                Read read) {
  if (absl::Status wrong = zk::ValidatePath("path", path); !wrong.ok()) return wrong;
  const auto nodes = AskUntilAnswered<Nodes>(core, "list " + path, wait,
                                             [parent, read](session::Session& session, auto done) {
                                               read(session, parent, std::move(done));
                                             });
  if (!nodes.ok()) return nodes.status();
  // On this thread: a long queue must not keep the reactor from its leases.
  return queue::listing::DescribeQueue(*nodes);
}

}  // namespace

absl::StatusOr<std::vector<ContenderInfo>> ListContenders(Client& client, const std::string& path,
                                                          const WaitOptions& wait) {
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  return List(core, path, core.name_space().ToServer(path), wait, queue::listing::ReadQueue);
}

absl::StatusOr<bool> CheckSequencer(Client& client, const Sequencer& sequencer,
                                    const WaitOptions& wait) {
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  if (absl::Status wrong = queue::listing::CheckSequencerForm(sequencer); !wrong.ok()) return wrong;
  return AskUntilAnswered<bool>(core, "check " + sequencer.node, wait,
                                [sequencer](session::Session& session, auto done) {
                                  queue::listing::AskStanding(session, sequencer, std::move(done));
                                });
}

absl::Status BreakContender(Client& client, const std::string& path, FencingToken token,
                            const WaitOptions& wait) {
  const auto& core = internal::ClientAccess::Core(client);
  const base::BootTime deadline = core->Now() + wait.timeout;
  const auto queue =
      List(*core, path, core->name_space().ToServer(path), wait, queue::listing::ReadQueueNow);
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
      std::move(done)(zk::ToStatus(reply.code, "delete", node));
    });
  };
  // Listing and deletion share the caller's timeout.
  const WaitOptions rest = {std::max(absl::ZeroDuration(), deadline - core->Now()), wait.cancel};
  return AskUntilAnswered<bool>(*core, "break " + path, rest, ask).status();
}

}  // namespace zkrecipes
