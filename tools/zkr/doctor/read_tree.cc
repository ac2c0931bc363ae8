// SPDX-License-Identifier: Apache-2.0

#include "tools/zkr/doctor/read_tree.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/strings/str_cat.h"

#include "lib/queue/acquire/ask.h"
#include "lib/queue/listing/owner.h"
#include "lib/queue/machine/node_name.h"
#include "lib/session/client/client_core.h"
#include "lib/zk/seam/path.h"
#include "tools/zkr/supervisor/process.h"

namespace zkrecipes::zkr::doctor {
namespace {

using Done = absl::AnyInvocable<void(absl::StatusOr<PathFacts>) &&>;

// One reading, shared by its replies. Everything on the reactor.
struct Reading {
  PathFacts facts;
  std::size_t unanswered = 0;
  absl::Status error;
  Done done;

  // True if the reply has what was asked for. That a node is gone or closed is a fact, no error.
  bool Take(const zk::Reply& reply, const zk::Request& request) {
    if (reply.code == zk::Code::kOk) return true;
    if (reply.code != zk::Code::kNoNode && reply.code != zk::Code::kNoAuth) {
      error = zk::ToStatus(reply.code, zk::OperationName(request), zk::PathOf(request));
    }
    return false;
  }

  void Answered() {
    if (--unanswered > 0) return;
    if (!error.ok()) return std::move(done)(error);
    std::erase_if(facts.queue, [](const NodeFacts& node) { return node.name.empty(); });
    std::move(done)(std::move(facts));
  }
};
using SharedReading = std::shared_ptr<Reading>;

void Ask(session::Session& session, const SharedReading& reading, const zk::Request& request,
         absl::AnyInvocable<void(const zk::Reply&) &&> take) {
  // Counted before it is sent, since the answer may come within Send.
  ++reading->unanswered;
  session.Send(request, [reading, request, take = std::move(take)](const zk::Reply& reply) mutable {
    // After an error nothing more is taken, but every answer is still waited for: they share this
    // object.
    if (reading->Take(reply, request) || reading->error.ok()) std::move(take)(reply);
    reading->Answered();
  });
}

// `node` picks it from the facts, which may have moved until the reply.
template <typename Pick>
void AskNode(session::Session& session, const SharedReading& reading, const std::string& path,
             Pick node) {
  Ask(session, reading, zk::Get{path}, [reading, node](const zk::Reply& reply) {
    NodeFacts& facts = node(*reading);
    // Released since the children were listed: Answered drops it.
    if (reply.code == zk::Code::kNoNode) facts.name.clear();
    if (reply.code != zk::Code::kOk) return;
    facts.stat = reply.stat;
  });
  Ask(session, reading, zk::GetAcl{path}, [reading, node](const zk::Reply& reply) {
    if (reply.code == zk::Code::kOk) node(*reading).acl = reply.acl;
  });
}

void AskChildren(session::Session& session, const SharedReading& reading, const std::string& path,
                 const zk::Names& children) {
  // Contenders beyond kMostRead are counted only: a report must not read 100,000 nodes one by one.
  for (const absl::string_view child : children) {
    if (!queue::machine::ParseNodeName(child)) {
      reading->facts.others.emplace_back(child);
    } else if (reading->facts.queue.size() < kMostRead) {
      reading->facts.queue.push_back({.name = std::string(child)});
    } else {
      ++reading->facts.unread;
    }
  }
  // All at once, in one round trip; the replies come in order.
  for (std::size_t i = 0; i < reading->facts.queue.size(); ++i) {
    AskNode(session, reading, zk::JoinPath(path, reading->facts.queue[i].name),
            [i](Reading& r) -> NodeFacts& { return r.facts.queue[i]; });
  }
}

void Begin(session::Session& session, const std::string& path, const SharedReading& reading) {
  Ask(session, reading, zk::GetChildren{path}, [&session, reading, path](const zk::Reply& reply) {
    reading->facts.exists = reply.code != zk::Code::kNoNode;
    reading->facts.listed = reply.code == zk::Code::kOk;
    if (reading->facts.kind == PathFacts::Kind::kQueue) {
      AskChildren(session, reading, path, reply.children);
    }
  });
  AskNode(session, reading, path, [](Reading& r) -> NodeFacts& { return r.facts.node; });
}

absl::StatusOr<PathFacts> Read(Client& client, const std::string& server_path,
                               const PathFacts& asked, const WaitOptions& wait) {
  const auto ask = [&](Done done) {
    auto reading = std::make_shared<Reading>();
    reading->facts = asked;
    reading->done = std::move(done);
    return
        [server_path, reading](session::Session& session) { Begin(session, server_path, reading); };
  };
  return queue::acquire::AskUntilAnswered<PathFacts>(*internal::ClientAccess::Core(client),
                                                     "read " + asked.path, wait, ask);
}

ThisMachine::Process ReadProcess(pid_t pid) {
  const std::string line = supervisor::ReadWhole(absl::StrCat("/proc/", pid, "/stat"));
  const std::size_t begin = line.find('(');
  const std::size_t end = line.rfind(") ");  // a name may have brackets
  if (begin == std::string::npos || end == std::string::npos || end + 2 >= line.size()) return {};
  return {line.substr(begin + 1, end - begin - 1), line[end + 2]};
}

}  // namespace

absl::StatusOr<PathFacts> ReadPath(Client& client, const std::string& path,
                                   const WaitOptions& wait) {
  internal::ClientCore& core = *internal::ClientAccess::Core(client);
  if (absl::Status checked = queue::acquire::CheckQuestion(core, path, wait); !checked.ok()) {
    return checked;
  }
  return Read(client, core.name_space().ToServer(path), {.path = path}, wait);
}

absl::StatusOr<PathFacts> ReadAncestor(Client& client, const std::string& path,
                                       const WaitOptions& wait) {
  std::string ancestor = internal::ClientAccess::Core(client)->name_space().ToServer(path);
  for (;;) {
    // The first one that exists is where the path would be made, and its ACL is the one that
    // counts.
    ancestor = zk::ParentPath(ancestor);
    const PathFacts asked = {.kind = PathFacts::Kind::kAncestor, .path = ancestor};
    auto looked = Read(client, ancestor, asked, wait);
    if (!looked.ok() || looked->exists || ancestor == "/") return looked;
  }
}

absl::StatusOr<PathFacts> ReadNamespace(Client& client, const WaitOptions& wait) {
  const std::string root = NamespaceOf(client);
  return Read(client, root, {.kind = PathFacts::Kind::kNamespace, .path = root}, wait);
}

std::string NamespaceOf(Client& client) {
  return internal::ClientAccess::Core(client)->name_space().root();
}

ThisMachine ReadOwners(const std::vector<ContenderInfo>& contenders) {
  ThisMachine machine{.host = queue::listing::ThisOwner("").host};
  for (const ContenderInfo& c : contenders) {
    const auto pid = static_cast<pid_t>(c.owner.pid);
    if (pid <= 0 || pid != c.owner.pid || c.owner.host != machine.host) continue;
    // Unlike /proc, which may hide other users' processes, this tells "gone" from "not shown".
    if (kill(pid, 0) != 0 && errno == ESRCH) continue;
    machine.processes[pid] = ReadProcess(pid);
  }
  return machine;
}

}  // namespace zkrecipes::zkr::doctor
