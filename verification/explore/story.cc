// SPDX-License-Identifier: Apache-2.0
//
// How a step of a MachineWorld reads.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "verification/explore/machine_world.h"

namespace zkrecipes::explore {
namespace {

namespace wire = memory::wire;
using Kind = Step::Kind;

std::string Describe(const zk::Request& request) {
  return absl::StrCat(zk::OperationName(request), " ", zk::PathOf(request));
}

struct Incoming {
  std::string operator()(const wire::Welcome& m) const {
    return absl::StrCat("is welcome in session ", m.session);
  }
  std::string operator()(const wire::Expired&) const { return "hears that its session is gone"; }
  std::string operator()(const wire::Pong&) const { return "reads a pong"; }
  std::string operator()(const wire::Fired& m) const {
    return absl::StrCat("hears that ", m.path,
                        m.what == zk::WatchEvent::kDeleted ? " was deleted" : " has changed");
  }
  std::string operator()(const wire::Answer& m) const {
    std::string text = absl::StrCat("reads an answer: ", zk::CodeName(m.reply.code));
    if (!m.reply.path.empty()) absl::StrAppend(&text, ", ", m.reply.path);
    if (!m.reply.children.empty()) {
      absl::StrAppend(&text, ", ", absl::StrJoin(m.reply.children, " "));
    }
    return text;
  }
};

struct Outgoing {
  std::string operator()(const wire::Hello& m) const {
    return m.session == 0 ? "a hello" : absl::StrCat("a hello of session ", m.session);
  }
  std::string operator()(const wire::SetWatches& m) const {
    return absl::StrCat("watches to be set again: ", absl::StrJoin(m.paths, " "));
  }
  std::string operator()(const wire::Ping&) const { return "a ping"; }
  std::string operator()(const wire::EndSession&) const { return "the end of the session"; }
  std::string operator()(const wire::Call& m) const { return explore::Describe(m.request); }
};

}  // namespace

std::string MachineWorld::Describe(const Step& step) const {
  const auto client = [&] { return absl::StrCat("client ", step.who, " "); };
  const auto contestant = [&] { return absl::StrCat("contestant ", step.who, " "); };
  switch (step.kind) {
    case Kind::kConnect:
      return absl::StrCat(client(), "connects to server ", step.which);
    case Kind::kExecute:
      return absl::StrCat("server ", ensemble_.ServerOf(step.who), " reads, on connection ",
                          step.who, ", ", std::visit(Outgoing(), *ensemble_.NextOf(step.who)));
    case Kind::kApply:
      return absl::StrCat("server ", step.who, " applies the next transaction");
    case Kind::kDeliver: {
      const auto* message = ensemble_.NextFor(clients_[step.who].connection);
      if (message == nullptr) return client() + "sees that its connection is gone";
      return client() + std::visit(Incoming(), *message);
    }
    case Kind::kRetry:
      return contestant() + "tries again";
    case Kind::kOwnWatch:
      return contestant() + "finds that it is time to watch its own node";
    case Kind::kDelay:
      return contestant() + "has waited for the lock delay";
    case Kind::kFollow:
      return absl::StrCat(contestant(), "goes on in another mode");
    case Kind::kRelease:
      return contestant() + "releases";
    case Kind::kDrop:
      return absl::StrCat("what was still on its way on connection ", step.who, " is lost");
    case Kind::kBreak:
      return client() + "LOSES ITS CONNECTION";
    case Kind::kExpire:
      return absl::StrCat("SESSION ", clients_[step.who].session, " of client ", step.who,
                          " EXPIRES");
    case Kind::kOperatorDelete:
      return absl::StrCat("AN OPERATOR DELETES the node of contestant ", step.who);
    case Kind::kGiveUp:
      return contestant() + "GIVES UP";
    case Kind::kLapse:
      return absl::StrCat("the lease of contestant ", step.who, " LAPSES");
    case Kind::kElect:
      return absl::StrCat("SERVER ", step.who, " IS ELECTED");
    case Kind::kReap:
      return "EMPTY CONTAINERS ARE REAPED";
  }
  return "";
}

}  // namespace zkrecipes::explore
