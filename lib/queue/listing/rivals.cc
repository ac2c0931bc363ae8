// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/rivals.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "lib/queue/listing/node_data.h"
#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::listing {
namespace {

constexpr size_t kLongestShown = 80;

// Owners' data is what any client wrote: it is cut and escaped before it stands in a status.
std::string Shown(const std::string& text) {
  return absl::Utf8SafeCEscape(text.substr(0, kLongestShown));
}

// Of what the node's data says, else the node's name.
std::string Process(const machine::ListedNode& node) {
  const OwnerInfo owner = ParseOwner(machine::ParseNodeName(node.name)->mode, node.data);
  std::string host;
  if (!owner.host.empty()) host = absl::StrCat("host ", Shown(owner.host), ", pid ", owner.pid);
  if (owner.id.empty()) return host.empty() ? node.name : host;
  return host.empty() ? Shown(owner.id) : absl::StrCat(Shown(owner.id), " (", host, ")");
}

}  // namespace

Rivals RivalsIn(const zk::Names& children, absl::string_view own_name, absl::string_view ignored) {
  const std::optional<machine::NodeName> own = machine::ParseNodeName(own_name);
  zk::Names in_front;
  for (const absl::string_view child : children) {
    const std::optional<machine::NodeName> other = machine::ParseNodeName(child);
    if (!other || child == own_name || child == ignored) continue;
    // Behind the own node: it waits for this contender, and not the other way round.
    if (own && other->sequence > own->sequence) continue;
    in_front.emplace_back(child);
  }
  return {in_front.size(), {machine::HeadOf(in_front), "", {}}};
}

// The time is the server's, of the node's creation: when the process began to queue, not the grant.
std::string Holder(const machine::ListedNode& head) {
  std::string text = absl::StrCat("held by ", Process(head));
  if (head.stat.czxid == 0) return text;
  const absl::Time since = absl::FromUnixMillis(head.stat.ctime_ms);
  absl::StrAppend(&text, ", in the queue since ",
                  absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", since, absl::UTCTimeZone()));
  return text;
}

std::string Describe(const Rivals& rivals) {
  if (rivals.count == 0) {
    return "first in the queue, but a lock delay is not over or the session is not proven alive";
  }
  std::string text =
      absl::StrCat("behind ", rivals.count, rivals.count == 1 ? " other" : " others");
  if (!rivals.head.name.empty()) absl::StrAppend(&text, ", ", Holder(rivals.head));
  return text;
}

absl::Status BusyStatus(const std::string& path, const Rivals& rivals) {
  const std::string what = absl::StrCat("acquire ", path, ": busy: ");
  if (rivals.head.name.empty()) {
    return absl::AlreadyExistsError(absl::StrCat(what, "another contender was in the way"));
  }
  std::string more;
  if (rivals.count > 1) more = absl::StrCat("; queued behind it: ", rivals.count - 1);
  return absl::AlreadyExistsError(absl::StrCat(what, Holder(rivals.head), more));
}

// The head may go, or be unreadable, between listing and get: the message then says less. An answer
// never waits for a second look.
void ReadHeadOf(session::Session& session, const std::string& parent, Rivals rivals,
                absl::AnyInvocable<void(Rivals) &&> done) {
  if (rivals.head.name.empty()) return std::move(done)(std::move(rivals));
  const std::string node = zk::JoinPath(parent, rivals.head.name);
  session.Send(zk::Get{node}, [rivals = std::move(rivals),
                               done = std::move(done)](const zk::Reply& reply) mutable {
    if (reply.code == zk::Code::kOk) {
      rivals.head.data = reply.data;
      rivals.head.stat = reply.stat;
    } else if (reply.code == zk::Code::kNoNode) {
      rivals.head = {};
    }
    std::move(done)(std::move(rivals));
  });
}

}  // namespace zkrecipes::queue::listing
