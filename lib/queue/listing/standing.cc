// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/standing.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "lib/queue/listing/grant_mode.h"
#include "lib/queue/listing/owner.h"
#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::listing {
namespace {

// The answers to one question, in the order in which they come.
struct Hearing {
  bool confirmed = false;  // the barrier was committed
  zk::Reply listing = {};
};

// A leader's node may be named as a lock's: only a reader's name is sure to say its mode.
bool SameMode(machine::Mode mode, GrantMode granted) {
  return (GrantModeOf(mode) == GrantMode::kShared) == (granted == GrantMode::kShared);
}

absl::StatusOr<bool> Judge(const Sequencer& sequencer, const Hearing& hearing,
                           const zk::Reply& node) {
  if (!hearing.confirmed) return absl::UnavailableError("the quorum has confirmed nothing");
  const zk::Code listed = hearing.listing.code;
  if (listed != zk::Code::kOk && listed != zk::Code::kNoNode) {
    return zk::ToStatus(listed, "list", sequencer.path());
  }
  const absl::string_view own = zk::NodeName(sequencer.node);
  const auto name = machine::ParseNodeName(own);
  // Neither the name nor the czxid of a node is ever used again, so this answer is final.
  if (!name.has_value() || node.code == zk::Code::kNoNode) return false;
  if (node.code == zk::Code::kNoAuth) {
    return absl::PermissionDeniedError(
        absl::StrCat("check ", sequencer.node, ": its ACL does not let this client read it"));
  }
  if (node.code != zk::Code::kOk) return zk::ToStatus(node.code, "get", sequencer.node);
  const int64_t token = TokenIn(name->mode, node.data).value_or(node.stat.czxid);
  if (token != sequencer.token.value() || !SameMode(name->mode, sequencer.mode)) {
    return false;
  }
  // The node is the grant's. It holds unless another contender is in front of it: an upgraded
  // writer is not first before the reader that it follows has gone.
  const machine::QueueView view = machine::ViewQueue(hearing.listing.children, name->mode, own);
  return view.listed && view.in_front.empty();
}

}  // namespace

absl::Status CheckSequencerForm(const Sequencer& sequencer) {
  if (sequencer.node.empty()) {
    return absl::InvalidArgumentError("check: the sequencer is empty");
  }
  // Also whatever is no path, "a/b" or "/a//b".
  return Sequencer::Parse(sequencer.ToString()).status();
}

void AskStanding(session::Session& session, const Sequencer& sequencer,
                 absl::AnyInvocable<void(absl::StatusOr<bool>) &&> done) {
  // One session's requests are answered in order, and the barrier is a write: the listing and the
  // node are at least as new as this question.
  const auto hearing = std::make_shared<Hearing>();
  session.Send(session.CommittedBarrier(), [hearing](const zk::Reply& reply) {
    hearing->confirmed = reply.code == zk::Code::kNoNode;
  });
  session.Send(zk::GetChildren{sequencer.name_space + sequencer.path()},
               [hearing](const zk::Reply& reply) { hearing->listing = reply; });
  session.Send(zk::Get{sequencer.name_space + sequencer.node},
               [hearing, sequencer, done = std::move(done)](const zk::Reply& reply) mutable {
                 std::move(done)(Judge(sequencer, *hearing, reply));
               });
}

}  // namespace zkrecipes::queue::listing
