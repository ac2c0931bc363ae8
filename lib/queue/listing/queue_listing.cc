// SPDX-License-Identifier: Apache-2.0

#include "lib/queue/listing/queue_listing.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "lib/queue/call/ask.h"
#include "lib/queue/listing/node_data.h"
#include "lib/queue/machine/admission.h"
#include "lib/queue/machine/node_name.h"
#include "lib/zk/seam/path.h"

namespace zkrecipes::queue::listing {
namespace {

// A downgraded writer's node carries the token of the lease before it; for all others it is the
// czxid.
ContenderInfo Describe(const machine::ListedNode& node, const machine::NodeName& name,
                       bool candidates) {
  ContenderInfo info;
  info.mode = GrantModeOf(name.mode);
  info.token = FencingToken(TokenIn(name.mode, node.data).value_or(node.stat.czxid));
  info.node_czxid = node.stat.czxid;
  info.node = node.name;
  info.session = node.stat.ephemeral_owner;
  const machine::Mode says = candidates ? machine::Mode::kLeader : name.mode;
  info.owner = ParseOwner(says, node.data);
  info.stays = Stays(says, node.data);
  info.dialect =
      name.dialect == machine::Dialect::kKazoo ? NameDialect::kKazoo : NameDialect::kCurator;
  info.since = absl::FromUnixMillis(node.stat.ctime_ms);
  return info;
}

// One reading of a queue, shared by its replies.
struct Reading {
  Nodes nodes;
  size_t unanswered = 0;
  absl::Status error;
  call::Done<absl::StatusOr<Nodes>> done;

  void OnNode(size_t index, const zk::Reply& reply) {
    machine::ListedNode& node = nodes[index];
    if (reply.code == zk::Code::kOk) {
      node.data = reply.data;
      node.stat = reply.stat;
    } else if (reply.code == zk::Code::kNoNode) {
      node.name.clear();                           // no contender any more
    } else if (reply.code != zk::Code::kNoAuth) {  // listed by its name alone
      error = call::AskedStatus(reply.code, "get", node.name);
    }
    // Once, whichever of the answers failed.
    if (--unanswered == 0) Finish();
  }

  void Finish() {
    if (!error.ok()) return std::move(done)(error);
    std::move(done)(std::move(nodes));
  }
};

// All in one flight: the cost in time does not grow with the queue.
void ReadNodes(session::Session& session, const std::string& parent,
               const std::shared_ptr<Reading>& reading) {
  reading->unanswered = reading->nodes.size();
  if (reading->nodes.empty()) return reading->Finish();
  for (size_t i = 0; i < reading->nodes.size(); ++i) {
    session.Send(zk::Get{zk::JoinPath(parent, reading->nodes[i].name)},
                 [reading, i](const zk::Reply& reply) { reading->OnNode(i, reply); });
  }
}

}  // namespace

std::vector<ContenderInfo> DescribeQueue(const Nodes& nodes, bool candidates) {
  std::vector<std::pair<machine::NodeName, const machine::ListedNode*>> queue;
  for (const machine::ListedNode& node : nodes) {
    if (auto name = machine::ParseNodeName(node.name)) queue.emplace_back(*std::move(name), &node);
  }
  // By the number alone: kazoo's and Curator's names of one queue sort differently as text.
  std::stable_sort(queue.begin(), queue.end(), [](const auto& a, const auto& b) {
    return a.first.sequence < b.first.sequence;
  });
  std::vector<ContenderInfo> infos;
  infos.reserve(queue.size());
  std::optional<int32_t> first, first_writer;
  size_t permits = 0;
  // Of a node that may not be read the number is not known: the others most likely have the same.
  size_t most = 1;
  for (const auto& [name, node] : queue) {
    if (name.mode == machine::Mode::kPermit) most = std::max(most, PermitsIn(node->data));
  }
  size_t others = 0;  // in front, and neither permits nor members
  for (const auto& [name, node] : queue) {
    const bool member = name.mode == machine::Mode::kMember;
    const bool permit = name.mode == machine::Mode::kPermit;
    if (!first && !member) first = name.sequence;
    if (!first_writer && !member && name.mode != machine::Mode::kShared)
      first_writer = name.sequence;
    // The admission rules, as in ViewQueue and ViewPermits, for the whole queue in one pass.
    const auto& blocker = name.mode == machine::Mode::kShared ? first_writer : first;
    ContenderInfo info = Describe(*node, name, candidates);
    info.position = static_cast<int>(infos.size());
    info.holds = member || !(blocker.has_value() && *blocker < name.sequence);
    if (permit) {
      const size_t number = PermitsIn(node->data);
      info.permits = static_cast<int>(number);
      info.holds = others == 0 && permits < (node->stat.czxid == 0 ? most : number);
    }
    if (!member) ++(permit ? permits : others);
    infos.push_back(std::move(info));
  }
  return infos;
}

namespace {

// `only`: those of one mode.
void ReadThose(session::Session& session, const std::string& parent,
               std::optional<machine::Mode> only, call::Done<absl::StatusOr<Nodes>> done) {
  auto reading = std::make_shared<Reading>();
  reading->done = std::move(done);
  session.Send(zk::GetChildren{parent}, [&session, parent, reading, only](const zk::Reply& reply) {
    if (reply.code != zk::Code::kOk && reply.code != zk::Code::kNoNode) {
      reading->error = call::AskedStatus(reply.code, "list", parent);
      return reading->Finish();
    }
    for (const absl::string_view child : reply.children) {
      const std::optional<machine::NodeName> name = machine::ParseNodeName(child);
      if (!name.has_value() || (only.has_value() && name->mode != *only)) continue;
      reading->nodes.push_back(machine::ListedNode{std::string(child), "", {}});
    }
    ReadNodes(session, parent, reading);
  });
}

}  // namespace

void ReadQueue(session::Session& session, const std::string& parent,
               call::Done<absl::StatusOr<Nodes>> done) {
  ReadThose(session, parent, std::nullopt, std::move(done));
}

void ReadMembers(session::Session& session, const std::string& parent,
                 call::Done<absl::StatusOr<Nodes>> done) {
  ReadThose(session, parent, machine::Mode::kMember, std::move(done));
}

// The listing comes behind the barrier on one connection, so it shows at least what the quorum had
// committed when the barrier was: a server that is cut off from its ensemble cannot answer it.
void ReadQueueNow(session::Session& session, const std::string& parent,
                  call::Done<absl::StatusOr<Nodes>> done) {
  auto barrier = call::SendBarrier(session);
  ReadQueue(session, parent, [barrier, done = std::move(done)](auto nodes) mutable {
    if (barrier->committed()) return std::move(done)(std::move(nodes));
    std::move(done)(absl::UnavailableError("the quorum has confirmed nothing"));
  });
}

void ReadHead(session::Session& session, const std::string& parent,
              call::Done<absl::StatusOr<Head>> done) {
  session.Send(zk::GetChildren{parent}, [&session, parent,
                                         done = std::move(done)](const zk::Reply& listing) mutable {
    const bool listed = listing.code == zk::Code::kOk || listing.code == zk::Code::kNoNode;
    if (!listed) return std::move(done)(call::AskedStatus(listing.code, "list", parent));
    // Only the head is read: two requests, however long the queue.
    const std::string head = machine::HeadOf(listing.children);
    if (head.empty()) return std::move(done)(Head());
    session.Send(zk::Get{zk::JoinPath(parent, head)},
                 [&session, parent, head, done = std::move(done)](const zk::Reply& reply) mutable {
                   if (reply.code == zk::Code::kOk) {
                     return std::move(done)(Head({head, reply.data, reply.stat}));
                   }
                   if (reply.code != zk::Code::kNoNode) {
                     return std::move(done)(call::AskedStatus(reply.code, "get", head));
                   }
                   ReadHead(session, parent, std::move(done));  // gone in between
                 });
  });
}

// ---- Who is in the way --------------------------------------------------------------------------

namespace {

constexpr size_t kLongestShown = 80;

// Owners' data is what any client wrote: it is cut and escaped before it stands in a status.
std::string Shown(const std::string& text) { return zk::Printable(text.substr(0, kLongestShown)); }

// Others may hold with it.
bool IsPermit(const machine::ListedNode& node) {
  const auto name = machine::ParseNodeName(node.name);
  return name.has_value() && name->mode == machine::Mode::kPermit;
}

// Of what the node's data says, else the node's name.
std::string Process(const machine::ListedNode& node, bool candidates) {
  const machine::Mode mode =
      candidates ? machine::Mode::kLeader : machine::ParseNodeName(node.name)->mode;
  const OwnerInfo owner = ParseOwner(mode, node.data);
  std::string host;
  if (!owner.host.empty()) host = absl::StrCat("host ", Shown(owner.host), ", pid ", owner.pid);
  if (owner.id.empty()) return host.empty() ? Shown(node.name) : host;
  return host.empty() ? Shown(owner.id) : absl::StrCat(Shown(owner.id), " (", host, ")");
}

}  // namespace

Rivals RivalsIn(const zk::Names& children, absl::string_view own_name, absl::string_view ignored) {
  const std::optional<machine::NodeName> own = machine::ParseNodeName(own_name);
  zk::Names in_front;
  for (const absl::string_view child : children) {
    const std::optional<machine::NodeName> other = machine::ParseNodeName(child);
    if (!other || other->mode == machine::Mode::kMember) continue;
    if (child == own_name || child == ignored) continue;
    // Behind the own node: it waits for this contender, and not the other way round.
    if (own && other->sequence > own->sequence) continue;
    in_front.emplace_back(child);
  }
  return {in_front.size(), {machine::HeadOf(in_front), "", {}}};
}

// The time is the server's, of the node's creation: when the process began to queue, not the grant.
std::string Holder(const machine::ListedNode& head, bool candidates) {
  std::string text =
      absl::StrCat(IsPermit(head) ? "a permit is " : "", "held by ", Process(head, candidates));
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
  if (!rivals.head.name.empty())
    absl::StrAppend(&text, ", ", Holder(rivals.head, rivals.candidates));
  return text;
}

absl::Status BusyStatus(const std::string& path, const Rivals& rivals) {
  const std::string what = absl::StrCat("acquire ", path, ": busy: ");
  if (rivals.count == 0) {
    return absl::AlreadyExistsError(
        absl::StrCat(what, "a lock delay is not over since a holder vanished"));
  }
  if (rivals.head.name.empty()) {
    return absl::AlreadyExistsError(absl::StrCat(what, "another contender was in the way"));
  }
  std::string more;
  if (IsPermit(rivals.head)) {
    more = absl::StrCat("; who hold or wait in all: ", rivals.count);
  } else if (rivals.count > 1) {
    more = absl::StrCat("; queued behind it: ", rivals.count - 1);
  }
  return absl::AlreadyExistsError(absl::StrCat(what, Holder(rivals.head, rivals.candidates), more));
}

// The head may go, or be unreadable, between listing and get: the message then says less. An answer
// never waits for a second look.
void ReadHeadOf(session::Session& session, const std::string& parent, Rivals rivals,
                call::Done<Rivals> done) {
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
